package mcp

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"reverie/internal/api"
	"reverie/internal/api/problem"
	"reverie/internal/recall"
	"reverie/internal/reverie"
)

// Bounds of one answer.
const (
	groupsPage  = 50
	peoplePage  = 20
	maxPeople   = 100
	searchLimit = 5
	maxHits     = 50
	maxVersions = 50
	maxLines    = 10 // claims about an entity
	maxTokens   = 100_000
	maxName     = 200 // characters of a name to search for
)

func (s *Server) readingTools() {
	add(s, tool{name: "list_groups", title: "List groups",
		about: "List the chat groups that you may read, with how many memories each has. Call it once, to learn the group_id " +
			"that the other tools take."}, s.listGroups)
	add(s, tool{name: "get_group_context", title: "Get a group's context",
		about: "Get what a group remembers that bears on one message, the people and things it names, and the newest turns " +
			"of its session: text to read before you answer. Call it first, once for each message that you answer.",
	}, s.groupContext)
	add(s, tool{name: "search_memories", title: "Search memories",
		about: "Find the memories of a group that are nearest to a text in meaning and in words, best first. Call it for what " +
			"get_group_context left open, or for the past: with at, what was remembered then."}, s.searchMemories)
	add(s, tool{name: "get_memory_history", title: "Get a memory's history",
		about: "Get all versions of a memory, oldest first: what it said, since when, and why it changed. Call it when somebody " +
			"asks how or since when something is so. With at, the versions of that time, as they stood then."}, s.memoryHistory)
	add(s, tool{name: "get_memory", title: "Get a memory",
		about: "Get one memory: what it says, its type, strength and dates, who wrote it, and the words of members that it " +
			"rests on. Call it when somebody asks who said so, or before you propose a change."}, s.memory)
	add(s, tool{name: "get_dream", title: "Get a group's dream",
		about: "Get what a group's dreams have condensed from its sessions and nights: a short narrative, lasting " +
			"preferences, themes and open todos. Call it for the whole picture, not for one question."}, s.dream)
	add(s, tool{name: "list_people", title: "List people",
		about: "List the people of a group (or its bots and things) and what is said of them, strongest first. Call it when a " +
			"question is about somebody; with name, for one of them.",
	}, s.listPeople)
}

type groupsIn struct {
	After string `json:"after,omitempty" jsonschema:"go on after this group id: next of the answer before"`
	Limit *int   `json:"limit,omitempty" jsonschema:"groups at most: 1 to 200, 50 by default"`
}

type group struct {
	GroupID  string             `json:"group_id"`
	Name     string             `json:"name"`
	Language string             `json:"language" jsonschema:"zh, en, or empty"`
	TimeZone string             `json:"time_zone"`
	Memories int                `json:"memories" jsonschema:"that are active"`
	State    reverie.GroupState `json:"state"`
}

type groupsOut struct {
	Groups []group `json:"groups"`
	Next   string  `json:"next,omitempty" jsonschema:"pass it as after for more; left out where there are no more"`
}

func (s *Server) listGroups(ctx context.Context, in groupsIn) (groupsOut, string, error) {
	limit, err := within("limit", in.Limit, groupsPage, 1, api.MaxPage)
	if err != nil {
		return groupsOut{}, "", err
	}
	reply, err := s.service.Groups(ctx, reverie.GroupQuery{After: in.After, Limit: limit})
	out := groupsOut{Groups: []group{}, Next: reply.Next}
	for _, g := range reply.Groups {
		out.Groups = append(out.Groups, group{g.ID, g.Name, g.Language, g.TimeZone, g.Active, g.State})
	}
	return out, quoted("groups", fmt.Sprintf("Groups: %d.", len(out.Groups)), out.Groups), err
}

type contextIn struct {
	Group     string `json:"group_id" jsonschema:"the group's id, as list_groups says it"`
	Query     string `json:"query" jsonschema:"the message to answer, word for word"`
	Session   string `json:"session_id,omitempty" jsonschema:"the session that the message belongs to, for its newest turns"`
	MaxTokens *int   `json:"max_tokens,omitempty" jsonschema:"tokens of the text at most, such as 1000: 1 to 100000; as configured by default"`
	past
}

type contextMemory struct {
	MemoryID  string         `json:"memory_id"`
	Kind      reverie.Kind   `json:"kind"`
	Status    reverie.Status `json:"status" jsonschema:"active; archived ones are no longer current"`
	Statement string         `json:"statement"`
	Score     float64        `json:"score" jsonschema:"similarity to the query, and a little for weight, strength and recency"`
	AsOf      time.Time      `json:"last_supported_at"`
	From      string         `json:"from_group_id,omitempty" jsonschema:"the other group in which its person said so; no other tool reads it by its id"`
	Again     string         `json:"judge_again,omitempty" jsonschema:"why it is to be judged again: what it says may no longer hold"`
}

type contextOut struct {
	Text       string                 `json:"text" jsonschema:"what bears on the message, as quoted data; empty where nothing does"`
	Memories   []contextMemory        `json:"memories" jsonschema:"those in the text, best first"`
	Quotes     []reverie.ContextQuote `json:"quotes" jsonschema:"earlier messages in the text, word for word, best first"`
	Tokens     int                    `json:"tokens" jsonschema:"of the text, estimated"`
	UsageID    string                 `json:"usage_id,omitempty" jsonschema:"names this context when it is reported which memories an answer used"`
	Skipped    string                 `json:"skipped,omitempty" jsonschema:"why no memories were looked up"`
	Incomplete bool                   `json:"incomplete,omitempty" jsonschema:"something could not be looked up now"`
}

func (s *Server) groupContext(ctx context.Context, in contextIn) (contextOut, string, error) {
	tokens, wrong := within("max_tokens", in.MaxTokens, 0, 1, maxTokens)
	at, err := in.when()
	if err := cmp.Or(wrong, err); err != nil {
		return contextOut{}, "", err
	}
	reply, err := s.service.Context(ctx, recall.ContextRequest{GroupID: in.Group, SessionID: in.Session, Query: in.Query,
		MaxTokens: tokens, At: at.At, Recorded: at.Recorded})
	if err != nil {
		return contextOut{}, "", err
	}
	for _, w := range reply.Warnings { // warnings concern the server's own configuration
		s.service.Log.WarnContext(ctx, "a context is incomplete", "group_id", in.Group, "reason", w)
	}
	out := contextOut{Text: reply.Text, Memories: []contextMemory{}, Quotes: reply.Quotes, Tokens: reply.Tokens, UsageID: reply.UsageID,
		Skipped:    reply.Skipped,
		Incomplete: len(reply.Warnings) > 0}
	ids := make([]string, len(reply.Memories))
	for i, m := range reply.Memories {
		ids[i] = m.MemoryID
	}
	again, err := s.again(ctx, in.Group, ids, at.At)
	if err != nil {
		return contextOut{}, "", err
	}
	for _, m := range reply.Memories {
		out.Memories = append(out.Memories, contextMemory{m.MemoryID, m.Kind, m.Status, m.Statement, m.Score, m.LastSupportedAt,
			m.FromGroupID, again[m.MemoryID]})
	}
	text := out.Text
	switch {
	case text == "" && out.Skipped != "":
		text = "Nothing was looked up: " + out.Skipped + "."
	case text == "":
		text = "Nothing that is remembered bears on this."
	}
	return out, text, nil
}

type searchIn struct {
	Group     string   `json:"group_id" jsonschema:"the group's id, as list_groups says it"`
	Query     string   `json:"query" jsonschema:"what to look for, in the group's own language, such as: when do we meet?"`
	Limit     *int     `json:"limit,omitempty" jsonschema:"memories at most: 1 to 50, 5 by default"`
	Threshold *float64 `json:"threshold,omitempty" jsonschema:"least score, 0 to 1; without one 0.7, or the nearest three where none reaches that"`
	past
}

type hit struct {
	MemoryID  string         `json:"memory_id"`
	Statement string         `json:"statement"`
	Score     float64        `json:"score"`
	Related   bool           `json:"related" jsonschema:"whether the score reaches 0.7, where related texts begin"`
	Version   int            `json:"version"`
	Kind      reverie.Kind   `json:"kind"`
	Status    reverie.Status `json:"status" jsonschema:"active; archived ones are no longer current, and come last"`
	UpdatedAt time.Time      `json:"updated_at"`
	From      string         `json:"from_group_id,omitempty" jsonschema:"the other group in which its person said so; no other tool reads it by its id"`
	Again     string         `json:"judge_again,omitempty" jsonschema:"why it is to be judged again: what it says may no longer hold"`
}

type searchOut struct {
	Results  []hit    `json:"results" jsonschema:"best first; the score is the similarity, 0 to 1"`
	Message  string   `json:"message,omitempty" jsonschema:"why there are none, or none that is related"`
	Warnings []string `json:"warnings,omitempty"`
}

// again returns which memories are to be judged again, and why; none for an instant.
func (s *Server) again(ctx context.Context, group string, ids []string, at time.Time) (map[string]string, error) {
	if !at.IsZero() {
		return nil, nil
	}
	return s.service.JudgeAgain(ctx, group, ids)
}

// past is the instant as of which a tool reads.
type past struct {
	At         string `json:"at,omitempty" jsonschema:"as of this time of the chat, such as 2026-01-15T20:00:00Z, or 2026-01-15, which is its beginning in UTC; now by default"`
	AsOf       string `json:"as_of,omitempty" jsonschema:"the former name of at"`
	RecordedAt string `json:"recorded_at,omitempty" jsonschema:"as of this time, by when memories were written and not by when things were said; instead of at"`
}

// when returns the instant; zero is now.
func (p past) when() (reverie.When, error) {
	var times [2]time.Time
	asked := cmp.Or(p.At, p.AsOf)
	for i, in := range []struct{ name, text string }{{"at", asked}, {"recorded_at", p.RecordedAt}} {
		if in.text == "" {
			continue
		}
		var err error
		if times[i], err = api.Instant(in.text); err != nil {
			return reverie.When{}, problem.New(422, in.name+": "+err.Error())
		}
	}
	if asked != "" && p.RecordedAt != "" {
		return reverie.When{}, problem.New(422, "at and recorded_at: give one of them; at goes by when things "+
			"were said, recorded_at by when they were written")
	}
	return api.When(times[0], times[1])
}

func (s *Server) searchMemories(ctx context.Context, in searchIn) (searchOut, string, error) {
	limit, wrong := within("limit", in.Limit, searchLimit, 1, maxHits)
	at, err := in.when()
	q := recall.Query{GroupID: in.Group, Text: in.Query, Limit: limit, Threshold: reverie.RelatedScore, OrNearest: true,
		At: at.At, Recorded: at.Recorded}
	if in.Threshold != nil {
		q.Threshold, q.OrNearest = *in.Threshold, false
	}
	if !(q.Threshold >= 0 && q.Threshold <= 1) {
		err = cmp.Or(err, error(problem.New(422, "threshold: it is 0 to 1")))
	}
	if err := cmp.Or(wrong, err); err != nil {
		return searchOut{}, "", err
	}
	reply, err := s.service.Search(ctx, q)
	if err != nil {
		return searchOut{}, "", err
	}
	ids := make([]string, len(reply.Results))
	for i, r := range reply.Results {
		ids[i] = r.MemoryID
	}
	again, err := s.again(ctx, in.Group, ids, q.At)
	if err != nil {
		return searchOut{}, "", err
	}
	out := searchOut{Results: []hit{}, Message: reply.Message, Warnings: reply.Warnings}
	for _, r := range reply.Results {
		out.Results = append(out.Results, hit{r.MemoryID, r.Statement, r.Score, r.Related, r.Version, r.Kind, r.Status, r.UpdatedAt,
			r.FromGroupID, again[r.MemoryID]})
	}
	said := fmt.Sprintf("Memories found: %d.", len(out.Results))
	for _, more := range append(slices.Clone(out.Warnings), out.Message) {
		if more != "" {
			said += " " + more + "."
		}
	}
	return out, quoted("memories", said, out.Results), nil
}

type historyIn struct {
	Memory string `json:"memory_id" jsonschema:"the id of any version of the memory"`
	past
}

type version struct {
	Version   int            `json:"version"`
	MemoryID  string         `json:"memory_id"`
	Statement string         `json:"statement"`
	Status    reverie.Status `json:"status"`
	Since     time.Time      `json:"since" jsonschema:"when the chat said it"`
	Reason    string         `json:"change_summary,omitempty" jsonschema:"why it changed"`
	Again     string         `json:"judge_again,omitempty" jsonschema:"why it is to be judged again: what it says may no longer hold"`
}

type historyOut struct {
	MemoryID string    `json:"memory_id" jsonschema:"of the newest version: changes name this one"`
	Current  int       `json:"current_version"`
	Versions []version `json:"versions" jsonschema:"oldest first"`
	Older    int       `json:"older,omitempty" jsonschema:"versions before these that are left out"`
}

func (s *Server) memoryHistory(ctx context.Context, in historyIn) (historyOut, string, error) {
	at, err := in.when()
	if err != nil {
		return historyOut{}, "", err
	}
	reply, err := s.service.History(ctx, in.Memory, at)
	if err != nil {
		return historyOut{}, "", err
	}
	out := historyOut{MemoryID: reply.MemoryID, Current: reply.CurrentVersion,
		Older: max(len(reply.History)-maxVersions, 0)}
	for _, e := range reply.History[out.Older:] {
		out.Versions = append(out.Versions, version{e.Version, e.MemoryID, e.Statement, e.Status, e.SaidAt, e.ChangeSummary,
			e.JudgeAgain})
	}
	return out, quoted("history", fmt.Sprintf("Versions: %d, oldest first; version %d is the newest.", len(out.Versions),
		out.Current), out.Versions), nil
}

type memoryIn struct {
	Memory string `json:"memory_id" jsonschema:"the id of any version of the memory, or the first 8 characters or more of it"`
}

type memoryWords struct {
	MessageID string    `json:"message_id"`
	Author    string    `json:"author"`
	Quote     string    `json:"quote"`
	SentAt    time.Time `json:"sent_at"`
}

type memoryOut struct {
	MemoryID  string         `json:"memory_id" jsonschema:"of the newest version: changes name this one"`
	Statement string         `json:"statement"`
	Type      reverie.Type   `json:"type" jsonschema:"fact, habit, opinion, rule, plan or culture"`
	DueOn     string         `json:"due_on,omitempty" jsonschema:"the date of a plan"`
	Kind      reverie.Kind   `json:"kind"`
	Status    reverie.Status `json:"status"`
	Version   int            `json:"version"`
	Strength  float64        `json:"strength"`
	Weight    float64        `json:"weight"`
	Tags      []string       `json:"tags"`
	Origin    reverie.Writer `json:"origin" jsonschema:"person where somebody wrote it by hand, else model"`
	Author    string         `json:"author,omitempty" jsonschema:"who wrote it by hand"`
	SaidAt    time.Time      `json:"said_at"`
	UpdatedAt time.Time      `json:"updated_at"`
	Again     string         `json:"judge_again,omitempty" jsonschema:"why it is to be judged again: what it says may no longer hold"`
	Evidence  []memoryWords  `json:"evidence" jsonschema:"the words that it rests on, oldest first, at most the newest 50"`
}

func (s *Server) memory(ctx context.Context, in memoryIn) (memoryOut, string, error) {
	reply, err := s.service.Memory(ctx, in.Memory)
	if err != nil {
		return memoryOut{}, "", err
	}
	m := reply.Memory
	out := memoryOut{MemoryID: m.ID, Statement: m.Statement, Type: m.Type, Kind: m.Kind, Status: m.Status, Version: m.Version,
		Strength: m.Strength, Weight: m.Weight, Tags: m.Tags, Origin: m.Origin, Author: m.Author, SaidAt: m.SaidAt.UTC(),
		UpdatedAt: m.UpdatedAt.UTC(), Again: m.JudgeAgain, Evidence: []memoryWords{}}
	if m.DueOn != nil {
		out.DueOn = m.DueOn.Format(time.DateOnly)
	}
	for _, e := range reply.Evidence[max(len(reply.Evidence)-maxVersions, 0):] {
		out.Evidence = append(out.Evidence, memoryWords{e.MessageID, e.Author, e.Quote, e.SentAt.UTC()})
	}
	return out, recall.Quoted("memory", "The memory, and the words that it rests on.", []any{out}), nil
}

type dreamIn struct {
	Group string `json:"group_id" jsonschema:"the group's id, as list_groups says it"`
}

type dreamItem struct {
	MemoryID  string            `json:"memory_id"`
	Type      reverie.DreamType `json:"type,omitempty" jsonschema:"preference, theme or todo"`
	Statement string            `json:"statement"`
	Done      bool              `json:"done,omitempty" jsonschema:"a todo that is closed"`
	AsOf      time.Time         `json:"last_supported_at"`
}

type dreamOut struct {
	DreamTime *time.Time  `json:"dream_time,omitempty" jsonschema:"of the last dream"`
	Narrative string      `json:"narrative,omitempty"`
	Items     []dreamItem `json:"items"`
	Message   string      `json:"message,omitempty" jsonschema:"where there is nothing to show"`
}

func (s *Server) dream(ctx context.Context, in dreamIn) (dreamOut, string, error) {
	page, err := s.service.Dream(ctx, in.Group)
	if err != nil {
		return dreamOut{}, "", err
	}
	out := dreamOut{DreamTime: page.DreamTime, Items: []dreamItem{}, Message: page.Message}
	var lines []any
	if page.Narrative != nil {
		out.Narrative = page.Narrative.Statement
		lines = append(lines, map[string]string{"narrative": out.Narrative})
	}
	for _, i := range page.Items[:min(len(page.Items), api.MaxPage)] {
		out.Items = append(out.Items, dreamItem{i.ID, i.Type, i.Statement, i.Done, i.LastSupportedAt.UTC()})
	}
	if len(lines)+len(out.Items) == 0 {
		return out, "Nothing: " + out.Message + ".", nil
	}
	return out, recall.Quoted("dream", "What the group's dreams have left.", append(lines, anyOf(out.Items)...)), nil
}

type peopleIn struct {
	Group  string `json:"group_id" jsonschema:"the group's id, as list_groups says it"`
	Name   string `json:"name,omitempty" jsonschema:"only those of whose names this is a part, such as Lin"`
	Kind   string `json:"kind,omitempty" jsonschema:"person, bot or thing; person by default"`
	Limit  *int   `json:"limit,omitempty" jsonschema:"people at most: 1 to 100, 20 by default"`
	Offset *int   `json:"offset,omitempty" jsonschema:"people to skip"`
}

type person struct {
	EntityID string             `json:"entity_id"`
	Name     string             `json:"name"`
	Kind     reverie.EntityKind `json:"kind"`
	Aliases  []string           `json:"aliases"`
	About    []string           `json:"about" jsonschema:"what is said of them, strongest first"`
}

type peopleOut struct {
	Total  int      `json:"total" jsonschema:"of all pages"`
	People []person `json:"people"`
}

func (s *Server) listPeople(ctx context.Context, in peopleIn) (peopleOut, string, error) {
	limit, wrong := within("limit", in.Limit, peoplePage, 1, maxPeople)
	offset, skips := within("offset", in.Offset, 0, 0, api.MaxOffset)
	_, long := within("length of name", new(len(in.Name)), 0, 0, maxName)
	if err := cmp.Or(wrong, skips, long); err != nil {
		return peopleOut{}, "", err
	}
	f := reverie.EntityFilter{Kind: cmp.Or(reverie.EntityKind(in.Kind), reverie.EntityPerson), Name: in.Name}
	reply, err := s.service.Entities(ctx, in.Group, f, limit, offset)
	if err != nil {
		return peopleOut{}, "", err
	}
	out := peopleOut{Total: reply.Total, People: []person{}}
	for _, e := range reply.Entities {
		out.People = append(out.People, person{e.EntityID, e.Subject, e.Kind, e.Aliases[:min(len(e.Aliases), maxLines)],
			about(e)})
	}
	return out, quoted("people", fmt.Sprintf("People and things: %d of %d, and what is said of them.", len(out.People),
		out.Total), out.People), nil
}

// about returns the claims about an entity: features, relations and impressions, the strongest of each.
func about(e reverie.EntityReply) []string {
	lines := []string{}
	for _, f := range e.Features {
		lines = append(lines, f.Key+": "+f.Value)
	}
	for _, r := range e.Relations {
		lines = append(lines, r.Kind+": "+r.Target)
	}
	lines = lines[:min(len(lines), maxLines/2)]
	for _, i := range e.Impressions {
		lines = append(lines, i.Text)
	}
	return lines[:min(len(lines), maxLines)]
}

// quoted formats a list as quoted data.
func quoted[T any](name, heading string, list []T) string {
	if len(list) == 0 {
		return heading
	}
	return recall.Quoted(name, heading, anyOf(list))
}

func anyOf[T any](list []T) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = v
	}
	return out
}
