//go:build torture

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// What two lives of the same past may differ in: what each call cost and how often it
// was tried, versions of the schema, vectors (their model is told beside them), fences,
// places in sequences, random keys.
var (
	aside      = []string{"llm_calls", "goose_db_version"}
	asideTerms = []string{"embedding", "fence", "expires_at", "plan_key", "seq", "evidence_no"}
)

// named are the ids that become what they name, where they are told.
const named = `select memory_id, 'memory ' || kind || ' ' || statement || ' v' || version from memories
	union all select run_id, 'run ' || job || ' ' || coalesce(session_id, '') || ' of ' || window_since || ' #' || attempt from runs
	union all select entity_id, 'entity ' || subject from entities
	union all select claim_id, 'claim ' || value || ' v' || version from entity_claims`

var instantPattern = regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d(?::?\d\d)?)`)

// tables are those that are compared, each with its columns that number rows.
const tables = `select c.relname, coalesce(string_agg(a.attname, ',') filter (where pg_get_expr(d.adbin, d.adrelid) ilike '%epoch from%'), '')
	from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
	left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
	where c.relname <> 'writes' and c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition group by 1 order by 1`

// end is every row that the database has come to, without what differs between two
// lives of the same: ids are what they name, instants of these tests' own time are now,
// and whoever died with a lease is not named in it any more, for that is taken anew.
func (s *stage) end() []string {
	s.t.Helper()
	names := map[string]string{}
	for _, row := range s.rows(named) {
		id, name, _ := strings.Cut(row, "|")
		names[id] = now(name)
	}
	s.exec(`update leases set holder = '' where expires_at <= statement_timestamp()`)
	var parts []string
	for _, row := range s.rows(tables) {
		if table, numbers, _ := strings.Cut(row, "|"); !slices.Contains(aside, table) {
			left := append(strings.Split(numbers, ","), asideTerms...)
			parts = append(parts, fmt.Sprintf(`select '%s: ' || (to_jsonb(t) - '{%s}'::text[])::text from %[1]s t`, table, strings.Trim(strings.Join(left, ","), ",")))
		}
	}
	out := s.rows(strings.Join(parts, " union all ")) // one statement: tables are many, and mostly empty
	for i, row := range out {
		out[i] = now(uuidPattern.ReplaceAllStringFunc(row, func(id string) string {
			if name := names[strings.ToLower(id)]; name != "" {
				return quotable(name)
			}
			return "id"
		}))
	}
	slices.Sort(out)
	return out
}

// now says so for each instant that is no longer ago than these tests are.
func now(text string) string {
	return instantPattern.ReplaceAllStringFunc(text, func(told string) string {
		for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999999-07", "2006-01-02 15:04:05.999999999-07:00"} {
			if at, err := time.Parse(layout, told); err == nil {
				if time.Since(at) < 24*time.Hour {
					return "now"
				}
				return at.UTC().Format(time.RFC3339Nano)
			}
		}
		return told
	})
}

// quotable is a text as it stands within a string of JSON.
func quotable(text string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(text); err != nil {
		panic(fmt.Sprint("strings always encode: ", err))
	}
	quoted := strings.TrimSpace(b.String())
	return quoted[1 : len(quoted)-1]
}

// answers is how many answers of models the database keeps.
func (s *stage) answers() int {
	s.t.Helper()
	return len(s.rows(`select 1 from answers union all select 1 from run_chunks where answer <> ''`))
}

// violations are what an audit of the stage's whole database finds, in words.
func (s *stage) violations() []string {
	s.t.Helper()
	if o := invoke(s.t.Context(), s.env, "", "audit"); o.code != 0 {
		return []string{"the audit found violations:\n" + o.stdout + o.stderr}
	}
	return nil
}
