package safety

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// CheckTeamMemory checks a team's memory that was received or is to be sent, and normalises its texts. Personal
// data is masked if the policy says so; reason and tags are cleaned. A deletion loses its statement and is never
// refused because of it: see [DropWords].
//
// Its errors are [reverie.ErrInvalid]; the memory must not be used then. A *[reverie.TeamRefusedError] says what
// was found in which field, without quoting it; other errors say what is malformed. The memory must be complete,
// including times, version and origin.
func CheckTeamMemory(m *reverie.TeamMemory, p Privacy, now time.Time) error {
	c := &teamCheck{policy: p, until: now.Add(24 * time.Hour)}
	c.id("id", m.ID)
	c.id("version_id", m.VersionID)
	c.that(m.Version >= 1 && m.Version <= math.MaxInt32, "version", "it counts from 1")
	c.that(m.Status == reverie.StatusActive || m.Status == reverie.StatusDeprecated, "status", "it is active or deprecated")
	c.that(m.Strength >= 0 && m.Strength <= 1, "strength", "it is 0 to 1") // false for NaN too
	c.time("created_at", m.CreatedAt)
	c.time("updated_at", m.UpdatedAt)
	if DropWords(m, p); m.Status != reverie.StatusDeprecated {
		m.Statement = c.statement(m.Statement)
	}
	m.ChangeReason = CleanReason(c.text("change_reason", m.ChangeReason))
	m.Tags = c.tags(m.Tags)
	c.origin(&m.Origin)
	c.versions(m.Versions)
	c.evidence(m.Evidence)
	if c.broken != nil {
		return fmt.Errorf("team memory %s: %s: %w", text.Excerpt(text.VisibleLine(m.ID), 40), strings.Join(c.broken, "; "), reverie.ErrInvalid)
	}
	if c.found != nil {
		return &reverie.TeamRefusedError{ID: m.ID, Findings: c.found}
	}
	return nil
}

// teamCheck collects the problems of a team's memory.
type teamCheck struct {
	policy Privacy
	until  time.Time // times must not be later
	found  []reverie.ScanFinding
	broken []string
}

// maxBroken is the maximum number of malformed fields that an error lists.
const maxBroken = 5

func (c *teamCheck) that(ok bool, where, must string) {
	if !ok && len(c.broken) < maxBroken {
		c.broken = append(c.broken, where+": "+must)
	}
}

func (c *teamCheck) id(where, id string) {
	c.that(reverie.IsTeamID(id), where, "it is a UUID in lower case")
}

func (c *teamCheck) time(where string, at time.Time) {
	c.that(at.Year() >= 1970 && !at.After(c.until), where, "it lies between 1970 and tomorrow")
}

// statement returns a statement as it may be stored.
func (c *teamCheck) statement(s string) string {
	masked, err := c.policy.Statement(s)
	var refused *StatementError
	if !errors.As(err, &refused) {
		return masked
	}
	n := len(c.found)
	switch refused.Rule {
	case RuleSecret, RulePII:
		c.scan("statement", text.Normalize(s))
	}
	if len(c.found) == n {
		c.found = append(c.found, reverie.ScanFinding{Where: "statement", Class: reverie.ClassStatement, Rule: string(refused.Rule), Excerpt: refused.Detail})
	}
	return s
}

// text returns a text without invisible characters, and with personal data masked by the policy.
func (c *teamCheck) text(where, s string) string {
	c.that(utf8.ValidString(s), where, "it is text in UTF-8")
	if s = text.VisibleLine(s); !c.scan(where, text.Normalize(s)) {
		return s
	}
	return c.policy.Mask(s)
}

// scan records forbidden content of a text, and reports whether it found any.
func (c *teamCheck) scan(where, s string) bool {
	found := Scan(s)
	for _, f := range found {
		if f.Class == reverie.ClassSecret || c.policy.PII == PIIRefuse {
			f.Where = where
			c.found = append(c.found, f)
		}
	}
	return len(found) > 0
}

// tags returns the valid tags. A secret in a tag is recorded as a finding; other invalid tags are dropped.
func (c *teamCheck) tags(list []string) []string {
	c.that(len(list) <= maxTeamTags, "tags", fmt.Sprintf("there are %d at most", maxTeamTags))
	if len(list) > maxTeamTags {
		return nil
	}
	var kept []string
	for _, tag := range list {
		if !c.scan("tags", text.Normalize(tag)) || c.policy.PII == PIIAllow {
			kept = append(kept, tag)
		}
	}
	return CleanTags(kept)
}

// maxTeamTags is the maximum number of tags that are checked.
const maxTeamTags = 50

// name checks and returns a short text that names something.
func (c *teamCheck) name(where, s string, needed bool) string {
	n := utf8.RuneCountInString(s)
	c.that(n <= reverie.MaxDeployment && checkCharacters(s) == nil && (s != "" || !needed), where, fmt.Sprintf("it is a name of at most %d visible characters", reverie.MaxDeployment))
	if n > reverie.MaxDeployment {
		return ""
	}
	return c.text(where, s)
}

var jobWord = text.NewPattern(`^[a-z]{0,20}$`)

func (c *teamCheck) origin(o *reverie.Origin) {
	o.Deployment = c.name("origin.deployment", o.Deployment, true)
	c.id("origin.memory_id", o.MemoryID)
	c.id("origin.lineage_id", o.LineageID)
	c.that(o.Version >= 1 && o.Version <= math.MaxInt32, "origin.version", "it counts from 1")
	c.that(jobWord.MatchString(string(o.Job)), "origin.job", "it is the name of a job, or empty")
	o.Model = c.name("origin.model", o.Model, false)
	o.PromptVersion = c.name("origin.prompt_version", o.PromptVersion, false)
	c.that(o.Messages >= 0 && o.Messages <= math.MaxInt32, "origin.messages", "it is a number of messages")
	c.time("origin.made_at", o.MadeAt)
}

func (c *teamCheck) versions(list []reverie.TeamVersion) {
	c.that(len(list) <= reverie.MaxTeamVersions, "versions", fmt.Sprintf("there are %d at most", reverie.MaxTeamVersions))
	seen := map[string]bool{}
	for i := range list[:min(len(list), reverie.MaxTeamVersions)] {
		v, where := &list[i], fmt.Sprintf("versions[%d].", i)
		c.id(where+"version_id", v.VersionID)
		c.that(!seen[v.VersionID], where+"version_id", "it is listed once")
		c.that(v.Version >= 1 && v.Version <= math.MaxInt32, where+"version", "it counts from 1")
		v.Deployment = c.name(where+"deployment", v.Deployment, true)
		c.time(where+"updated_at", v.UpdatedAt)
		seen[v.VersionID] = true
	}
}

// evidence checks only the form of evidence. The messages are in the other deployment, so quotes cannot be
// verified.
func (c *teamCheck) evidence(list []reverie.Evidence) {
	c.that(len(list) <= reverie.MaxTeamEvidence, "evidence", fmt.Sprintf("there are %d at most", reverie.MaxTeamEvidence))
	for i := range list[:min(len(list), reverie.MaxTeamEvidence)] {
		e, where := &list[i], fmt.Sprintf("evidence[%d].", i)
		for _, id := range []struct {
			field  string
			text   *string
			needed bool
		}{{"message_id", &e.MessageID, true}, {"author_id", &e.AuthorID, false}, {"author", &e.Author, false}} {
			c.that(len(*id.text) <= reverie.MaxMessageIDLength && (*id.text != "" || !id.needed), where+id.field, fmt.Sprintf("it has at most %d bytes", reverie.MaxMessageIDLength))
			*id.text = c.text(where+id.field, *id.text)
		}
		c.that(strings.TrimSpace(e.Quote) != "" && utf8.RuneCountInString(e.Quote) <= reverie.MaxQuote, where+"quote", fmt.Sprintf("it has 1 to %d characters", reverie.MaxQuote))
		e.Quote = c.text(where+"quote", e.Quote)
		c.time(where+"sent_at", e.SentAt)
		day, err := time.Parse(time.DateOnly, e.LocalDate)
		c.that(err == nil && e.SentAt.Sub(day).Abs() <= 72*time.Hour, where+"local_date", "it is the date of sent_at, YYYY-MM-DD")
	}
}

// DropWords removes the statement of a deleted memory. So a deletion reaches other deployments whatever it said,
// and does not spread it. Other memories are left unchanged.
func DropWords(m *reverie.TeamMemory, p Privacy) {
	if m.Status == reverie.StatusDeprecated {
		m.Statement, m.Tags, m.Evidence, m.ChangeReason = reverie.DeletedWords, []string{}, nil, CleanReason(p.Mask(text.VisibleLine(m.ChangeReason)))
	}
}

// PrepareTeamShare checks and normalises a memory that is to be shared with a team. Its errors are those of
// [CheckTeamMemory].
func PrepareTeamShare(s *reverie.TeamShare, p Privacy) error {
	at := s.Memory.UpdatedAt
	m := reverie.TeamMemory{ID: s.Memory.LineageID, VersionID: s.Memory.ID, Version: s.Memory.Version, Statement: s.Memory.Statement, Status: reverie.StatusActive,
		Tags: s.Memory.Tags, Strength: s.Memory.Strength, CreatedAt: s.Memory.CreatedAt, UpdatedAt: at, ChangeReason: s.Reason,
		Origin: reverie.Origin{Deployment: "here", MemoryID: s.Memory.ID, LineageID: s.Memory.LineageID, Version: s.Memory.Version, MadeAt: at}}
	err := CheckTeamMemory(&m, p, at)
	s.Memory.Statement, s.Memory.Tags, s.Reason = m.Statement, m.Tags, m.ChangeReason
	return err
}
