package e2e

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// substance is what a group remembers and why, whatever number of runs and
// chunks it took to get there.
func (v *victim) substance() []string {
	v.t.Helper()
	var out []string
	for _, query := range []string{
		`select 'memory', m.statement, m.version, m.status, p.statement, m.strength, m.last_supported_at, m.change_summary, m.embedding_model
			from memories m left join memories p on p.group_id = m.group_id and p.memory_id = m.parent_id
			where m.group_id = $1 order by m.statement collate "C", m.version`,
		`select 'message', message_id, outcome, run_id is null from messages where group_id = $1 order by sent_at`,
		`select 'change', action, old_statement, new_statement, change_summary, version, evidence from memory_change_log
			where group_id = $1 order by 2, 3, 4, 6`,
		`select 'evidence', m.statement, e.message_id, e.quote, e.action from memory_evidence e join memories m using (group_id, memory_id)
			where e.group_id = $1 order by 2, 3, 5`,
	} {
		out = append(out, v.rows(query, v.group)...)
	}
	return out
}

// TestBrokenConnections loses one packet to the database, or the reply to one,
// somewhere in a run. The run goes on as if nothing had happened, or fails
// cleanly and the next one completes it; nothing is ever written twice.
func TestBrokenConnections(t *testing.T) {
	t.Parallel()
	s := killStage(t)
	// A run that begins anew counts its deletes anew: nothing is to be held here.
	s.set("REVERIE_EVOLVE_HOLD_MIN=1000")
	args := []string{"--until", "2025-03-06"}
	v := s.victim(t, "whole", args...)
	o, steps := v.through(func(*process, int) verdict { return pass })
	o.want(t, 0)
	want := v.substance()
	random := rand.New(rand.NewPCG(2, uint64(steps)))
	const breaks = 14
	for i := range breaks {
		at, what := 1+(steps*i+random.IntN(steps))/breaks, []verdict{sever, lose}[i%2]
		t.Run(fmt.Sprintf("step %d of %d", at, steps), func(t *testing.T) {
			t.Parallel()
			v := s.victim(t, fmt.Sprintf("broken-%d", i), args...)
			o, _ := v.through(func(_ *process, n int) verdict {
				if n == at {
					return what
				}
				return pass
			})
			if o.code != 0 {
				if o.code != 1 || o.stderr == "" {
					t.Errorf("exit code %d: %s", o.code, o.stderr)
				}
				t.Logf("failed: %s", o.stderr)
				v.expire() // it may not have been able to release it
				v.run(v.args...).want(t, 0)
			}
			if diff := cmp.Diff(want, v.substance()); diff != "" {
				t.Errorf("the end differs from that of a whole run (-want +got):\n%s", diff)
			}
		})
	}
}
