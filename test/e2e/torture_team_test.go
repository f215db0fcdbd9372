//go:build torture

package e2e

import "sync"

// crew's memories, where a play is about them.
const crewMemories = `select m.statement, m.version, m.status, p.statement from memories m
	left join memories p on p.group_id = m.group_id and p.memory_id = m.parent_id where m.group_id = 'team:crew' order by 1, 2`

// teams makes a group with a history share some of what it remembers with its team.
func (s *stage) teams() {
	s.t.Helper()
	historicPast(s)
	s.run("team", "create", "crew").want(s.t, 0)
	s.run(append([]string{"team", "share", "--team", "crew"},
		s.rows(`select memory_id from memories where group_id = 'template' and status = 'active' order by statement collate "C" limit 3`)...)...).want(s.t, 0)
}

// ally has another Reverie serve the team, on the database of a stage that is far away.
func (s *stage) ally(far *stage) *stage {
	s.t.Helper()
	token, _ := far.run("token", "create", "--group", "team:crew", "--scope", "write", "--json").want(s.t, 0).document(s.t)["token"].(string)
	_, base := far.serve(nil, "serve")
	s.set("REVERIE_TEAM_NAME=crew", "REVERIE_TEAM_REMOTE="+base, "REVERIE_TEAM_TOKEN="+token)
	return far
}

// teamPull takes what an ally has, who stays as it is.
func teamPull() *play {
	return &play{name: "team pull", past: func(s *stage) {
		far := s.double(s.t)
		far.teams()
		s.run("team", "create", "crew").want(s.t, 0)
		s.ally(far)
	}, args: invocation("team", "pull")}
}

// teamPush gives an ally, of whom each double has one of its own, what it has not. None of
// that may be there twice.
func teamPush() *play {
	var mu sync.Mutex
	allies := map[string]*stage{}
	var empty *stage
	return &play{name: "team push", past: func(s *stage) {
		empty = s.double(s.t)
		empty.run("team", "create", "crew").want(s.t, 0)
		s.teams()
	}, args: func(s *stage) []string {
		mu.Lock()
		known := allies[s.url] != nil
		mu.Unlock()
		if !known {
			far := s.ally(empty.double(s.t))
			mu.Lock()
			allies[s.url] = far
			mu.Unlock()
		}
		return []string{"team", "push"}
	}, beyond: func(s *stage) []string {
		mu.Lock()
		defer mu.Unlock()
		return allies[s.url].rows(crewMemories)
	}}
}
