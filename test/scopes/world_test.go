// Package scopes_test plays random histories of groups that are linked and unlinked, and looks
// after each step at what every reader of a group is shown.
package scopes_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"reverie/internal/api"
	"reverie/internal/api/mcp"
	"reverie/internal/api/rest"
	"reverie/internal/app"
	"reverie/internal/config"
	"reverie/internal/recall"
	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/store"
	"reverie/store/erase"
	"reverie/store/history"
	"reverie/store/links"
	"reverie/store/pg"
	"reverie/store/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

var noon = time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)

// house is a database of many histories, and all that reads it.
type house struct {
	testing.TB
	*app.App
	service *api.Service
	rest    http.Handler
	db      *sql.DB
	links   *links.Links
	now     time.Time
	// spoil is what a control puts in the place of who knows the links.
	spoil func(recall.Links) recall.Links
}

func newHouse(t testing.TB, selfFacts string, spoil func(recall.Links) recall.Links) *house {
	t.Helper()
	h := &house{TB: t, now: noon, spoil: spoil}
	cfg, _, _, err := config.Load(config.Input{WorkDir: t.TempDir()})
	h.check(err)
	cfg.Recall.MaxReturn, cfg.Recall.MaxTokens, cfg.Scopes.SelfFacts = 100, 50_000, selfFacts
	clock := func() time.Time { return h.now }
	h.App = &app.App{Config: cfg, Clock: clock, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		LookupEnv: func(string) string { return "" }, Notify: func(string) {},
		Store: pgtest.Open(t, pg.Options{Now: clock, ReaderRole: store.DefaultReaderRole})}
	service, usage := h.ServiceWithoutRuns()
	t.Cleanup(func() { _ = app.CloseUsage(context.Background(), usage) })
	h.service = service
	search, recaller := service.Searcher, service.Recaller
	service.Searcher = func(ctx context.Context, g string) (*recall.Searcher, error) { return h.spoiled(search(ctx, g)) }
	service.Recaller = func(ctx context.Context, g string) (*recall.Recaller, error) {
		r, err := recaller(ctx, g)
		if err == nil {
			r.Searcher, err = h.spoiled(r.Searcher, nil)
		}
		return r, err
	}
	h.rest, _ = rest.New(service, rest.Options{})
	h.links = links.New(h.Store.DB(), "")
	h.db, err = sql.Open("postgres", pgtest.URL(t))
	h.check(err)
	t.Cleanup(func() { _ = h.db.Close() })
	return h
}

func (h *house) spoiled(s *recall.Searcher, err error) (*recall.Searcher, error) {
	if err != nil || h.spoil == nil {
		return s, err
	}
	other := *s
	other.Links = h.spoil(s.Links)
	return &other, nil
}

func (h *house) check(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

// rows reads by plain SQL.
func (h *house) rows(query string, args ...any) (list [][]string) {
	h.Helper()
	rows, err := h.db.Query(query, args...)
	h.check(err)
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	h.check(err)
	for rows.Next() {
		row, to := make([]string, len(columns)), make([]any, len(columns))
		for i := range row {
			to[i] = &row[i]
		}
		h.check(rows.Scan(to...))
		list = append(list, row)
	}
	h.check(rows.Err())
	return list
}

// people are who talks in the groups. Each has an account of the same id everywhere.
var people = []string{"Lin", "Mia", "Ada", "Eve"}

func account(name string) string { return "u-" + strings.ToLower(name) }

// saga is one history. What is done to links, scopes and privacy is noted as it was meant.
type saga struct {
	*house
	r       *rand.Rand
	groups  []string
	persons map[string]map[string]string // group -> name -> entity id
	made    map[string]string            // entity id -> the run that made it
	leases  map[string]reverie.Lease
	runs    map[string][]string // group -> runs that wrote facts
	linked  map[[4]string]bool  // group, entity, group, entity
	scope   map[string]string   // by lineage
	private map[string]string   // by group
	said    int
	past    []time.Time
	clients map[string]*sdk.ClientSession
	log     []string
}

func (h *house) saga(seed uint64) *saga {
	h.Helper()
	s := &saga{house: h, r: rand.New(rand.NewPCG(seed, 28)), persons: map[string]map[string]string{}, made: map[string]string{},
		leases: map[string]reverie.Lease{}, runs: map[string][]string{}, linked: map[[4]string]bool{}, scope: map[string]string{},
		private: map[string]string{}, clients: map[string]*sdk.ClientSession{}}
	for i := range 3 {
		g := fmt.Sprintf("g%d-%c", seed, 'a'+i)
		_, err := h.Store.EnsureGroup(h.Context(), reverie.Group{ID: g})
		h.check(err)
		s.leases[g], err = h.Store.AcquireLease(h.Context(), g, reverie.LeaseGroup, "test", time.Hour)
		h.check(err)
		s.groups, s.persons[g] = append(s.groups, g), map[string]string{}
		here := people
		if i == 2 && seed%3 == 0 {
			here = people[:2] // as in a private chat
		}
		for _, name := range here {
			s.meet(g, name)
		}
		s.fact(g, here[0], here[0])
		s.fact(g, here[0], here[0], people[1])
		in, asks := io.Pipe()
		hears, out := io.Pipe()
		server, ended := mcp.New(h.service, mcp.Options{Caller: func(ctx context.Context) (context.Context, error) { return s.as(ctx, g), nil }}), make(chan struct{})
		go func() {
			defer close(ended)
			_ = server.Run(context.Background(), in, out)
		}()
		client, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(h.Context(), &sdk.IOTransport{Reader: hears, Writer: asks}, nil)
		h.check(err)
		s.clients[g] = client
		h.Cleanup(func() { _ = client.Close(); <-ended })
	}
	for i, g := range s.groups { // most begin with a link, and with facts that could cross
		for _, m := range s.heads(g) {
			if s.r.IntN(3) > 0 {
				s.reach(g, m, reverie.ReachPerson)
			}
		}
		other := s.groups[(i+1)%len(s.groups)]
		a, b := reverie.EntityEnd{GroupID: g, EntityID: s.persons[g]["Lin"]}, reverie.EntityEnd{GroupID: other, EntityID: s.persons[other]["Lin"]}
		if s.r.IntN(2) == 0 {
			h.check(s.links.Link(h.Context(), reverie.LinkQuery{A: a, B: b, Platform: true}))
			s.link(a, b, true)
			s.log = append(s.log, fmt.Sprintf("link %v with %v", a, b))
		}
	}
	return s
}

// reach says how far a fact reaches.
func (s *saga) reach(group string, m reverie.Memory, reach reverie.Reach) {
	s.Helper()
	_, err := s.Store.Edit(s.Context(), reverie.Edit{GroupID: group, MemoryID: m.ID, Action: reverie.ActionScope, Reach: reach, Reason: "so"})
	s.check(err)
	s.scope[m.LineageID] = string(reach)
	s.log = append(s.log, fmt.Sprintf("%s of %s is of scope %s", m.Statement, group, reach))
}

func (s *saga) as(ctx context.Context, group string) context.Context {
	return api.WithCaller(ctx, api.Caller{GroupID: group, Scope: reverie.ScopeRead})
}

func (s *saga) pick(list []string) string { return list[s.r.IntN(len(list))] }

// say stores a message, with a mark that no other group may be shown.
func (s *saga) say(group, name string) reverie.Evidence {
	s.Helper()
	s.said++
	s.now = s.now.Add(time.Minute)
	m := reverie.Message{ID: fmt.Sprintf("m%d", s.said), AuthorID: account(name), Author: name, Role: reverie.RoleUser,
		Text: fmt.Sprintf("mq%s%dx things that somebody likes", group, s.said), SentAt: s.now}
	_, err := s.Store.ImportMessages(s.Context(), group, []reverie.Message{m})
	s.check(err)
	return reverie.Evidence{MessageID: m.ID, AuthorID: m.AuthorID, Author: m.Author, Quote: m.Text, SentAt: m.SentAt,
		LocalDate: m.SentAt.Format(time.DateOnly)}
}

// run has a job write in one chunk.
func (s *saga) run(group string, job reverie.Job, write func(run string) error) string {
	s.Helper()
	ctx, lease := s.Context(), s.leases[group]
	run, err := s.Store.StartRun(ctx, lease, reverie.Run{Job: job, WindowSince: noon, WindowUntil: noon.Add(time.Hour)})
	s.check(err)
	s.check(s.Store.SaveChunk(ctx, lease, reverie.Chunk{RunID: run.ID, No: 1, InputSHA256: "in", Answer: "{}", Status: reverie.ChunkAnswered}))
	s.check(write(run.ID))
	_, err = s.Store.FinishRun(ctx, lease, reverie.Run{ID: run.ID, Job: job, Status: reverie.RunSucceeded})
	s.check(err)
	return run.ID
}

// meet has the job impression learn of somebody.
func (s *saga) meet(group, name string) {
	s.Helper()
	s.say(group, name)
	e := reverie.Entity{ID: reverie.NewID(), Kind: reverie.EntityPerson, Subject: name,
		Names: []reverie.EntityName{{Kind: reverie.NameSubject, Name: name}, {Kind: reverie.NameID, Name: account(name)}}}
	s.made[e.ID] = s.run(group, reverie.JobImpression, func(run string) error {
		_, err := s.Store.ApplyEntities(s.Context(), s.leases[group], reverie.EntityPlan{GroupID: group, RunID: run, ChunkNo: 1,
			Creates: []reverie.Entity{e}})
		return err
	})
	s.persons[group][name] = e.ID
}

// statement is a new one about somebody, that can be told from all others.
func (s *saga) statement(about ...string) string {
	s.said++
	return fmt.Sprintf("%s likes zq%dx things", strings.Join(about, " and "), s.said)
}

// fact has a run of evolve remember what somebody has said about others.
func (s *saga) fact(group, by string, about ...string) {
	s.Helper()
	evidence := []reverie.Evidence{s.say(group, by)}
	if s.r.IntN(5) == 0 {
		evidence = append(evidence, s.say(group, s.pick(people)))
	}
	statement := s.statement(about...)
	s.apply(group, reverie.Step{Action: reverie.ActionCreate, LineageID: reverie.NewID(), MemoryID: reverie.NewID(), Statement: statement,
		ContentHash: text.ContentHash(statement), Strength: reverie.TentativeStrength, LastSupportedAt: s.now, Evidence: evidence})
}

func (s *saga) apply(group string, step reverie.Step) {
	s.Helper()
	s.runs[group] = append(s.runs[group], s.run(group, reverie.JobEvolve, func(run string) error {
		_, err := s.Store.Apply(s.Context(), s.leases[group], reverie.Plan{GroupID: group, RunID: run, ChunkNo: 1, Kind: reverie.KindGroup,
			Steps: []reverie.Step{step}})
		return err
	}))
}

// heads are the newest versions in a group.
func (s *saga) heads(group string) []reverie.Memory {
	s.Helper()
	var heads []reverie.Memory
	for _, row := range s.rows(`select distinct on (lineage_id) lineage_id, memory_id, version, status, statement from memories where group_id = $1
			order by lineage_id, version desc`, group) {
		m := reverie.Memory{LineageID: row[0], ID: row[1], Status: reverie.Status(row[3]), Statement: row[4]}
		_, err := fmt.Sscan(row[2], &m.Version)
		s.check(err)
		heads = append(heads, m)
	}
	slices.SortFunc(heads, func(a, b reverie.Memory) int { return strings.Compare(zq(a.Statement), zq(b.Statement)) })
	return heads
}

// end is somebody in a group.
func (s *saga) end(group string) (name string, e reverie.EntityEnd, ok bool) {
	name = s.pick(people)
	id := s.persons[group][name]
	return name, reverie.EntityEnd{GroupID: group, EntityID: id}, id != ""
}

// step does one thing to the groups, and says what; "" where it could not be done.
func (s *saga) step() string {
	s.Helper()
	ctx, g := s.Context(), s.pick(s.groups)
	other := s.pick(slices.DeleteFunc(slices.Clone(s.groups), func(o string) bool { return o == g }))
	heads := s.heads(g)
	if len(heads) == 0 {
		s.fact(g, people[0], people[0])
		return "a first fact of " + g
	}
	m := heads[s.r.IntN(len(heads))]
	s.now = s.now.Add(time.Minute)
	edit := func(e reverie.Edit) string {
		e.GroupID, e.MemoryID, e.Reason = g, m.ID, "so"
		if _, err := s.Store.Edit(ctx, e); err != nil {
			return ""
		}
		return fmt.Sprintf("%s %s of %s: %s", e.Action, m.Statement, g, e.Statement)
	}
	switch s.r.IntN(16) {
	case 0, 1:
		about := [][]string{{s.pick(people)}, {s.pick(people), s.pick(people)}, {"Somebody"}}[s.r.IntN(3)]
		by := s.pick(append([]string{about[0], about[0]}, people...))
		if by == "Somebody" {
			by = people[0]
		}
		s.fact(g, by, about...)
		return fmt.Sprintf("%s says something of %v in %s", by, about, g)
	case 2, 3, 4:
		s.reach(g, m, reverie.ReachPerson)
		return "(that)"
	case 5:
		s.reach(g, m, reverie.ReachGroup)
		return "(that)"
	case 6, 7, 8:
		name, a, ok := s.end(g)
		b := reverie.EntityEnd{GroupID: other, EntityID: s.persons[other][name]}
		q := reverie.LinkQuery{A: a, B: b, Platform: true}
		if s.r.IntN(6) == 0 {
			_, q.B, _ = s.end(other)
			q.Force, q.Reason = true, "they are a couple"
		}
		if !ok || q.B.EntityID == "" || s.links.Link(ctx, q) != nil {
			return ""
		}
		s.link(q.A, q.B, true)
		return fmt.Sprintf("link %+v", q)
	case 9:
		for _, k := range slices.SortedFunc(mapKeys(s.linked), func(a, b [4]string) int { return slices.Compare(a[:], b[:]) }) {
			a, b := reverie.EntityEnd{GroupID: k[0], EntityID: k[1]}, reverie.EntityEnd{GroupID: k[2], EntityID: k[3]}
			s.check(s.links.Unlink(ctx, a, b))
			s.link(a, b, false)
			return fmt.Sprintf("unlink %v", k)
		}
	case 10:
		to := s.pick([]string{"on", "off", ""})
		_, err := s.Store.ChangeGroup(ctx, g, reverie.GroupChange{Private: &to}, time.Time{})
		s.check(err)
		s.private[g] = to
		return fmt.Sprintf("private of %s is %q", g, to)
	case 11:
		statement := s.statement(s.pick(people))
		if s.r.IntN(3) == 0 {
			return edit(reverie.Edit{Action: []reverie.Action{reverie.ActionDelete, reverie.ActionRestore}[s.r.IntN(2)]})
		}
		return edit(reverie.Edit{Action: reverie.ActionUpdate, Words: reverie.Words{Statement: statement,
			ContentHash: text.ContentHash(statement), Author: "an operator"}})
	case 12: // somebody else speaks for it, too
		if m.Status == reverie.StatusActive {
			s.apply(g, reverie.Step{Action: reverie.ActionKeep, LineageID: m.LineageID, Head: reverie.Head{MemoryID: m.ID, Version: m.Version},
				Strength: 0.51, LastSupportedAt: s.now, Evidence: []reverie.Evidence{s.say(g, s.pick(people))}})
			return "support " + m.Statement
		}
	case 13:
		if n := len(s.runs[g]); n > 0 {
			run := s.runs[g][n-1]
			s.runs[g] = s.runs[g][:n-1]
			return s.undo(g, run)
		}
	case 14:
		_, a, okA := s.end(g)
		_, b, okB := s.end(g)
		if okA && okB && s.r.IntN(2) == 0 {
			_, _, err := s.Store.MergeEntities(ctx, g, a.EntityID, b.EntityID, "the same")
			if err == nil {
				return fmt.Sprintf("merge %s into %s in %s", b.EntityID, a.EntityID, g)
			}
			if _, _, err = s.Store.UnmergeEntity(ctx, g, b.EntityID, "not the same"); err == nil {
				return fmt.Sprintf("unmerge %s in %s", b.EntityID, g)
			}
		}
		if okA && s.r.IntN(2) == 0 {
			return s.undo(g, s.made[a.EntityID])
		}
	case 15:
		if name := s.pick(people); s.r.IntN(2) == 0 {
			_, err := erase.New(s.Store.DB()).Erase(ctx, s.leases[g], reverie.EraseQuery{GroupID: g, AuthorID: account(name)})
			s.check(err)
			s.forget(g)
			return fmt.Sprintf("erase %s in %s", name, g)
		}
	}
	return ""
}

func (s *saga) undo(group, run string) string {
	s.Helper()
	_, err := history.New(s.Store.DB()).Undo(s.Context(), s.leases[group], reverie.UndoQuery{GroupID: group, RunID: run, Force: true})
	if err != nil {
		return ""
	}
	s.forget(group)
	return "undo " + run + " of " + group
}

// link notes a link in both directions, or that it is gone.
func (s *saga) link(a, b reverie.EntityEnd, on bool) {
	for _, k := range [][4]string{{a.GroupID, a.EntityID, b.GroupID, b.EntityID}, {b.GroupID, b.EntityID, a.GroupID, a.EntityID}} {
		if delete(s.linked, k); on {
			s.linked[k] = true
		}
	}
}

// forget drops the entities of a group that are there no more, and their links.
func (s *saga) forget(group string) {
	s.Helper()
	for name, id := range s.persons[group] {
		if len(s.rows(`select 1 from entities where group_id = $1 and entity_id = $2 and status <> 'withdrawn'`, group, id)) > 0 {
			continue
		}
		delete(s.persons[group], name)
		for k := range s.linked {
			if k[1] == id || k[3] == id {
				delete(s.linked, k)
			}
		}
	}
}

// get asks the API for a group as a token of it.
func (s *saga) get(group, method, path, body string) (int, string) {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	s.rest.ServeHTTP(w, r.WithContext(s.as(s.Context(), group)))
	return w.Code, w.Body.String()
}

func (s *saga) answer(group, method, path, body string) string {
	s.Helper()
	code, text := s.get(group, method, path, body)
	if code != http.StatusOK {
		s.Fatalf("%s %s of %s is %d: %s", method, path, group, code, text)
	}
	return text
}

// tool calls a tool as a client of a group.
func (s *saga) tool(group, name string, in map[string]any) (text string, failed bool) {
	s.Helper()
	r, err := s.clients[group].CallTool(s.Context(), &sdk.CallToolParams{Name: name, Arguments: in})
	s.check(err)
	raw, err := json.Marshal(r)
	s.check(err)
	return string(raw), r.IsError
}

const question = "who likes which things"

// readers are all that is shown of a group for a question, by who reads.
func (s *saga) readers(group string) map[string]string {
	s.Helper()
	q, id := url.QueryEscape(question), url.PathEscape(group)
	shown := map[string]string{
		"search":  s.answer(group, http.MethodGet, "/memory/search/"+id+"?threshold=0&limit=200&q="+q, ""),
		"context": s.answer(group, http.MethodGet, "/v1/groups/"+id+"/context?query="+q, ""),
		"explain": s.answer(group, http.MethodPost, "/v1/groups/"+id+"/explain", `{"query":"`+question+`"}`),
	}
	shown["MCP context"], _ = s.tool(group, "get_group_context", map[string]any{"group_id": group, "query": question, "max_tokens": 50_000})
	shown["MCP search"], _ = s.tool(group, "search_memories", map[string]any{"group_id": group, "query": question, "threshold": 0, "limit": 50})
	if s.spoil == nil { // what follows is wired by the application itself
		reply, err := s.Answer(s.Context(), group, question)
		s.check(err)
		raw, err := json.Marshal(reply)
		s.check(err)
		shown["ask"] = string(raw)
	}
	return shown
}

// own are what tells of a group alone, whatever it is linked with.
func (s *saga) own(group string) map[string]string {
	s.Helper()
	id := url.PathEscape(group)
	shown := map[string]string{
		"list":     s.answer(group, http.MethodGet, "/memory/list/"+id+"?status=all&limit=200", ""),
		"changes":  s.answer(group, http.MethodGet, "/memory/changes/"+id, ""),
		"entities": s.answer(group, http.MethodGet, "/v1/entities/"+id, ""),
		"stats":    s.answer(group, http.MethodGet, "/v1/groups/"+id+"/stats", ""),
	}
	shown["MCP people"], _ = s.tool(group, "list_people", map[string]any{"group_id": group})
	return shown
}

func mapKeys[K comparable, V any](m map[K]V) func(func(K) bool) {
	return func(yield func(K) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}
