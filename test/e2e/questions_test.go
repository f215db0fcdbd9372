package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
)

// plainMemories are what a group remembers, in both languages.
var plainMemories = []string{
	"The submission deadline for the zine Half Frame is February 20, 2026: at most 12 photos each",
	"每周四晚上七点半在滨江体育馆打羽毛球，老K 负责订场",
	"周会每周二晚上九点在语音频道开",
	"Spoilers go behind a spoiler tag until Sunday night",
	"Lightleak is written in Kotlin, its light meter core in Rust",
	"外拍胶卷统一用乐凯C200，金200留给过年",
	"Tomas is allergic to peanuts, so no peanut snacks at meetups",
	"合并代码之前一个人 review 就行，另一个人事后补看",
	"暗房钥匙放在前台，找小周登记后取",
	"Maya lives in Lisbon, eight hours behind Beijing in winter",
	"In Half Frame captions go at the back, the photos stay clean",
	"Printing 200 copies of Half Frame at Riso Corner costs 3600 yuan",
	"春节周会停两次，正月初八恢复",
}

// plainQuestions are asked as a person would, and what stands first where the words of the
// question say so. Where nothing in the memory has the words, the nearest are better than nothing.
var plainQuestions = map[string]string{
	"What can Tomas not eat?":                      "Tomas is allergic",
	"How much does it cost to print the zine?":     "Printing 200 copies",
	"Which city is Maya in?":                       "Maya lives in Lisbon",
	"what is lightleak coded in":                   "Lightleak is written",
	"Where do I pick up the key for the darkroom?": "", // it is told in Chinese
	"peanut snacks at meetups":                     "Tomas is allergic",
	"when do we meet":                              "",
	"暗房的钥匙在哪里拿":                                    "暗房钥匙放在前台",
	"打羽毛球是星期几":                                     "每周四晚上",
	"拍照用什么胶卷":                                      "外拍胶卷",
	"谁不能吃花生":                                       "", // it is told in English
	"我们几点开会":                                       "",
	"暗房钥匙在哪":                                       "暗房钥匙放在前台",
	"周会":                                           "",
}

// TestPlainQuestions: plain questions to a fresh group find the same over the command line,
// HTTP and MCP, with the defaults of an installation that nobody configured; none finds nothing.
func TestPlainQuestions(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.set("REVERIE_LLM_BASE_URL=")
	s.bring("fresh", chat("2025-03-03", "hello", "你好")...)
	for _, statement := range plainMemories {
		s.run("memory", "add", "--group", "fresh", "--reason", "asked them", statement).want(t, 0)
	}
	_, base := s.serve(nil, "serve")
	agent := s.agent(nil, "--group", "fresh")
	for question, first := range plainQuestions {
		doc := s.run("memory", "search", "--group", "fresh", "--json", question).want(t, 0).silent(t).document(t)
		byLine := pairs(doc["results"].(list))
		if len(byLine) == 0 {
			t.Errorf("%s: nothing is found", question)
			continue
		}
		if statement := doc["results"].(list)[0].(object)["statement"].(string); !strings.HasPrefix(statement, first) {
			t.Errorf("%s: first comes %s", question, statement)
		}
		reply, err := search(t.Context(), base, "fresh", question, nil)
		if err != nil {
			t.Fatal(err)
		}
		var byHTTP []string
		for _, r := range reply.Results {
			byHTTP = append(byHTTP, fmt.Sprint(r.MemoryID, r.Score, r.Related))
			if r.Related != (r.Score >= reverie.RelatedScore) {
				t.Errorf("%s: a score of %v is said to be related: %t", question, r.Score, r.Related)
			}
		}
		_, out, failed := agent.call("search_memories", object{"group_id": "fresh", "query": question})
		if failed {
			t.Fatalf("%s: %v", question, out)
		}
		if byMCP := pairs(out["results"].(list)); !slices.Equal(byLine, byHTTP) || !slices.Equal(byLine, byMCP) {
			t.Errorf("%s: the command line finds %q, HTTP %q, MCP %q", question, byLine, byHTTP, byMCP)
		}
		if related := reply.Results[0].Related; related == (reply.Message != "") || doc["message"] != nil != (reply.Message != "") {
			t.Errorf("%s: best is related: %t; HTTP says %q, the command line %v", question, related, reply.Message, doc["message"])
		}
		s.sameContext(agent, base, question)
	}
	s.strict(base)
}

// strict: with a threshold of one's own, nothing below it is found.
func (s *stage) strict(base string) {
	s.t.Helper()
	const question = "谁不能吃花生"
	doc := s.run("memory", "search", "--group", "fresh", "--threshold", "0.7", "--json", question).want(s.t, 0).document(s.t)
	reply, err := search(s.t.Context(), base, "fresh", question, url.Values{"threshold": {"0.7"}})
	if err != nil || len(reply.Results) != 0 || len(doc["results"].(list)) != 0 || !strings.HasPrefix(reply.Message, "nothing found") {
		s.t.Errorf("with a threshold: %+v, %v; %v", reply, err, doc)
	}
	if _, err := search(s.t.Context(), base, "fresh", question, url.Values{"threshold": {"7"}}); err != statusError(http.StatusUnprocessableEntity) {
		s.t.Errorf("a threshold of 7 is %v", err)
	}
}

// sameContext asks all three for the context of a question.
func (s *stage) sameContext(a *agent, base, question string) {
	s.t.Helper()
	line := ids(s.run("context", "--group", "fresh", "--json", "--query", question).want(s.t, 0).document(s.t)["memories"].(list))
	reply, err := ask[map[string]any](s.t.Context(), http.MethodGet, base+"/v1/groups/fresh/context?query="+url.QueryEscape(question), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	_, out, failed := a.call("get_group_context", object{"group_id": "fresh", "query": question})
	if failed {
		s.t.Fatalf("%s: %v", question, out)
	}
	if diff := cmp.Diff([][]string{line, line}, [][]string{ids(reply["memories"].(list)), ids(out["memories"].(list))}); diff != "" {
		s.t.Errorf("%s: contexts differ: %s", question, diff)
	}
}

// pairs are results: id, score, and whether that means related.
func pairs(results list) (all []string) {
	for _, r := range results {
		r := r.(object)
		all = append(all, fmt.Sprint(r["memory_id"], r["score"], r["related"]))
	}
	return all
}

// ids are those of memories, in their order.
func ids(memories list) (all []string) {
	for _, m := range memories {
		all = append(all, m.(object)["memory_id"].(string))
	}
	return all
}
