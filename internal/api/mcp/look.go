package mcp

import (
	"context"
	"fmt"
	"time"

	"reverie/internal/api"
	"reverie/internal/recall"
	"reverie/internal/reverie"
)

type historyIn struct {
	Memory string `json:"memory_id" jsonschema:"the id of any version of the memory"`
	AsOf   string `json:"as_of,omitempty" jsonschema:"the versions that there were at this time: RFC 3339, or a date, which is its beginning in UTC; now by default"`
}

type version struct {
	Version   int            `json:"version"`
	MemoryID  string         `json:"memory_id"`
	Statement string         `json:"statement"`
	Status    reverie.Status `json:"status"`
	Since     *time.Time     `json:"since"`
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
	at, err := asOf(in.AsOf)
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
		since := e.CreatedAt
		if since == nil {
			since = e.UpdatedAt
		}
		out.Versions = append(out.Versions, version{e.Version, e.MemoryID, e.Statement, e.Status, since, e.ChangeSummary,
			e.JudgeAgain})
	}
	return out, quoted("history", fmt.Sprintf("Versions: %d, oldest first; version %d is the newest.", len(out.Versions),
		out.Current), out.Versions), nil
}

type dreamIn struct {
	Group string `json:"group_id" jsonschema:"the group's id"`
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
	Group  string `json:"group_id" jsonschema:"the group's id"`
	Name   string `json:"name,omitempty" jsonschema:"only those of whose names this is a part"`
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
	limit, err := within("limit", in.Limit, peoplePage, 1, maxPeople)
	if err != nil {
		return peopleOut{}, "", err
	}
	offset, err := within("offset", in.Offset, 0, 0, api.MaxOffset)
	if err != nil {
		return peopleOut{}, "", err
	}
	if _, err := within("length of name", new(len(in.Name)), 0, 0, maxName); err != nil {
		return peopleOut{}, "", err
	}
	f := reverie.EntityFilter{Kind: reverie.EntityKind(in.Kind), Name: in.Name}
	if in.Kind == "" {
		f.Kind = reverie.EntityPerson
	}
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

// about is what is said of somebody: features, how they stand to others, and
// impressions, of each the strongest.
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

// quoted is a list as quoted data.
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
