package erase

import (
	"context"
	"reflect"
	"slices"
	"time"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/store"
	"reverie/store/pg"
	"reverie/store/teams"
)

// divide divides the memories that depend on the author. A memory is gone if it has no other evidence and no source
// that stays. That goes on through all memories made of it. The other memories are mixed. Summaries and the narratives
// of dreams are always gone: they are written anew from what stays.
func (e *eraser) divide(ctx context.Context) error {
	support, err := ask[struct {
		ID     string
		Others int
		Theirs bool
	}](ctx, e.t, "support", e.values)
	if err != nil {
		return err
	}
	sources, err := ask[struct{ ID, Source string }](ctx, e.t, "sources", e.values)
	if err != nil {
		return err
	}
	summaries, err := ask[struct{ ID, Session string }](ctx, e.t, "summaries", e.values)
	if err != nil {
		return err
	}
	others, mixed := map[string]int{}, map[string]bool{}
	for _, r := range support {
		if others[r.ID] = r.Others; r.Theirs {
			mixed[r.ID] = true
		}
	}
	again := pq.StringArray{}
	for _, r := range summaries {
		mixed[r.ID] = true
		again = append(again, r.Session)
	}
	of := map[string][]string{}
	for _, r := range sources {
		of[r.ID] = append(of[r.ID], r.Source)
	}
	gone := map[string]bool{}
	for more := true; more; {
		more = false
		for id, list := range of {
			if !mixed[id] && slices.ContainsFunc(list, func(source string) bool { return mixed[source] }) {
				mixed[id], more = true, true
			}
		}
		for id := range mixed {
			stays := func(source string) bool { return !gone[source] }
			if !gone[id] && others[id] == 0 && !slices.ContainsFunc(of[id], stays) {
				gone[id], more = true, true
			}
		}
	}
	e.values["touched"] = keysOf(mixed)
	retold, err := ask[string](ctx, e.t, "narratives", e.values)
	for _, id := range retold {
		gone[id] = true
	}
	for id := range gone {
		delete(mixed, id)
	}
	e.values["gone"], e.values["mixed"], e.values["again"] = keysOf(gone), keysOf(mixed), again
	e.counts.Erased, e.gone = len(gone), gone
	return err
}

// blank removes the texts of older versions that said only what the author had said, and of mixed memories that have
// ended.
func (e *eraser) blank(ctx context.Context) error {
	for _, id := range e.ids("versions") {
		e.gone[id] = true
	}
	ids := e.ids("blank_versions")
	if len(ids) == 0 {
		return nil
	}
	rows, marks, err := store.BlankVersions(ctx, e.t, e.group(), ids, "")
	for table, n := range rows {
		count(e.counts.Changed, table, n)
	}
	e.marks = append(e.marks, marks...)
	return err
}

// hold holds mixed memories until they are judged again.
func (e *eraser) hold(ctx context.Context) error {
	return e.weigh(ctx, true, store.EvidenceErased)
}

// weigh sets the strength of mixed memories by their remaining evidence, and queues them for judging. With held, they
// are held until then.
func (e *eraser) weigh(ctx context.Context, held bool, reason string) error {
	rows, err := ask[struct {
		HeadID      string
		Before      time.Time
		SetStrength *float64
		Dates       int
		SupportedAt *time.Time
	}](ctx, e.t, "mixed_strength", e.values)
	if err != nil || len(rows) == 0 {
		return err
	}
	var heads pg.Columns
	for _, r := range rows {
		strength, at := reverie.StrengthLeft(r.Dates, r.SetStrength, r.SupportedAt, r.Before)
		heads.Add(r.HeadID, strength, at)
	}
	args, err := heads.Args(e.group(), e.at, held)
	if err != nil {
		return err
	}
	if err := e.changed(ctx, "memories", `strength = u.strength, last_supported_at = u.supported_at,
			status = case when $3 then 'held' else x.status end,
			ended_at = coalesce(x.ended_at, case when $3 then $2::timestamptz end),
			said_until = coalesce(x.said_until, case when $3 then $2::timestamptz end)
		from unnest($4::uuid[], $5::float8[], $6::timestamptz[]) as u (id, strength, supported_at)
		where x.group_id = $1 and x.memory_id = u.id`, args...); err != nil {
		return err
	}
	e.counts.Held += len(rows)
	_, err = store.QueueJudgements(ctx, e.t, e.group(), e.ids("mixed"), reason, e.at)
	return err
}

// forgetPlans removes lines from held plans that cite the author or depend on an erased memory. A pending plan without
// remaining lines is rejected.
func (e *eraser) forgetPlans(ctx context.Context) error {
	rows, err := ask[struct {
		Run   string
		Chunk int
		Plan  pg.JSON[[]reverie.Step]
	}](ctx, e.t, "plans", e.values)
	if err != nil {
		return err
	}
	var runs, planned pq.StringArray
	for _, r := range rows {
		kept, heads := []reverie.Step{}, []reverie.Head{}
		for _, st := range r.Plan.V {
			if e.restsOnAuthor(st) {
				planned = append(planned, st.MemoryID)
				continue
			}
			if kept = append(kept, st); st.Action != reverie.ActionCreate {
				heads = append(heads, st.Head)
			}
		}
		if len(kept) == len(r.Plan.V) {
			continue
		}
		if len(kept) == 0 {
			runs = append(runs, r.Run)
		}
		if err := e.changed(ctx, "held_plans", `plan = $4::jsonb, heads = $5::jsonb,
				status = case when status = 'waiting' and $6 then 'rejected' else status end
			where group_id = $1 and run_id = $2 and chunk_no = $3`, e.group(), r.Run, r.Chunk,
			pg.JSON[[]reverie.Step]{V: kept}, pg.JSON[[]reverie.Head]{V: heads}, len(kept) == 0); err != nil {
			return err
		}
	}
	e.values["emptied_runs"], e.values["planned"] = runs, distinct(planned)
	return nil
}

// restsOnAuthor reports whether a step cites the author or depends on an erased memory.
func (e *eraser) restsOnAuthor(st reverie.Step) bool {
	return e.gone[st.LineageID] || e.gone[st.Head.MemoryID] || e.gone[st.Replaces] ||
		slices.ContainsFunc(st.Evidence, e.cites) ||
		slices.ContainsFunc(st.Sources, func(s reverie.Source) bool { return e.gone[s.LineageID] })
}

// cites reports whether evidence is the author's, or quotes what an edited message no longer says.
func (e *eraser) cites(v reverie.Evidence) bool {
	if now, ok := e.edited[v.MessageID]; ok {
		return v.Quote != "" && !text.VerifyQuote(v.Quote, now)
	}
	return e.erased[v.MessageID] || e.isAuthor(v.AuthorID)
}

// isAuthor reports whether an id is that of the erased author. If only messages are erased, none is.
func (e *eraser) isAuthor(id string) bool { return id != "" && id == e.query.AuthorID }

// forgetObservations removes the author from postponed observations. It deletes those about the author, and those
// without remaining claims.
func (e *eraser) forgetObservations(ctx context.Context) error {
	rows, err := ask[struct {
		ID   string
		Body pg.JSON[reverie.Observation]
	}](ctx, e.t, "observations", e.values)
	if err != nil {
		return err
	}
	var gone pq.StringArray
	for _, r := range rows {
		o := r.Body.V
		about := e.isAuthor(o.Account) || o.Account == "" && e.traces.FindName(o.Subject) != ""
		kept := o.Claims[:0]
		for _, c := range o.Claims {
			c.Evidence = slices.DeleteFunc(c.Evidence, e.cites)
			if len(c.Evidence) > 0 && !e.isAuthor(c.Account) {
				kept = append(kept, c)
			}
		}
		if about || len(kept) == 0 {
			gone = append(gone, r.ID)
			continue
		}
		o.Claims = kept
		if err := e.changed(ctx, "entity_observations", `body = $3::jsonb where group_id = $1
			and observation_id = $2::uuid and body <> $3::jsonb`, e.group(), r.ID, pg.JSON[reverie.Observation]{V: o}); err != nil {
			return err
		}
	}
	return e.deleted(ctx, "entity_observations", "observation_id", gone)
}

// weaken lowers the strength of claims that others have made, too, to that of the remaining evidence.
func (e *eraser) weaken(ctx context.Context) error {
	rows, err := ask[struct {
		ID    string
		Dates int
	}](ctx, e.t, "claim_dates", e.values)
	if err != nil {
		return err
	}
	var claims pg.Columns
	for _, r := range rows {
		claims.Add(r.ID, reverie.Reinforce(reverie.TentativeStrength, r.Dates-1))
	}
	n, err := claims.ExecRows(ctx, e.t, `update entity_claims c set strength = least(c.strength, u.strength)
		from unnest($2::uuid[], $3::float8[]) as u (id, strength) where c.group_id = $1 and c.claim_id = u.id`, e.group())
	count(e.counts.Changed, "entity_claims", n)
	return err
}

// forgetTeams ends the team memories that were made of erased or held memories, and removes the texts of all their
// versions. It removes the author's names from the other team memories of this group. Each gets a new version, so that
// other deployments pull it. Older versions can no longer be pushed over it.
func (e *eraser) forgetTeams(ctx context.Context) error {
	rows, err := ask[struct {
		Team, ID string
		Ends     bool
	}](ctx, e.t, "team_memories", e.values)
	if err != nil {
		return err
	}
	defer func() { e.values["group"], e.shared = e.values["home"], nil }()
	for len(rows) > 0 {
		team, end := rows[0].Team, map[string]bool{}
		for e.shared = nil; len(rows) > 0 && rows[0].Team == team; rows = rows[1:] {
			e.shared, end[rows[0].ID] = append(e.shared, rows[0].ID), rows[0].Ends
		}
		e.values["group"], e.values["shared"] = team, e.shared
		if err := e.forgetTeam(ctx, end); err != nil {
			return err
		}
		if err := e.search(ctx); err != nil {
			return err
		}
	}
	e.leave("team memories elsewhere", e.counts.Team,
		"they have ended here; elsewhere they end with `reverie team pull` there, or `reverie team push` here. "+
			"Their older versions there are erased there")
	return nil
}

// forgetTeam does the work of forgetTeams in one team. It ends the memories in end.
func (e *eraser) forgetTeam(ctx context.Context, end map[string]bool) error {
	if _, err := store.LockGroup(ctx, e.t, e.group()); err != nil { // nobody can write to it meanwhile
		return err
	}
	_, before, err := e.teamHeads(ctx)
	if err != nil {
		return err
	}
	var ids pq.StringArray
	for _, m := range before {
		ended := m.Statement == text.Erased && m.Origin.MemoryID == m.VersionID // by an earlier erasure here
		if end[m.ID] = end[m.ID] && !ended; end[m.ID] {
			ids = append(ids, m.ID)
		}
	}
	e.counts.Team += len(ids)
	e.values["ending"] = ids
	if err := e.do(ctx, "team"); err != nil {
		return err
	}
	if err := e.redact(ctx); err != nil {
		return err
	}
	heads, after, err := e.teamHeads(ctx)
	if err != nil {
		return err
	}
	for i, m := range after {
		switch w := (reverie.TeamWrite{Memory: m}); {
		case end[m.ID]:
			w.Memory.Status, w.Memory.ChangeReason = reverie.StatusDeprecated, "erased"
			err = e.appendTeam(ctx, heads[i], w)
		case !reflect.DeepEqual(before[i], m):
			w.Memory.Status, w.Quotes = heads[i].Status, true
			err = e.appendTeam(ctx, heads[i], w)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// teamHeads returns the heads of the team memories that are worked on, by lineage id.
func (e *eraser) teamHeads(ctx context.Context) ([]reverie.Memory, []reverie.TeamMemory, error) {
	heads, err := ask[reverie.Memory](ctx, e.t, "team_heads", e.values)
	if err != nil {
		return nil, nil, err
	}
	list, err := teams.TeamMemories(ctx, e.t, e.group(), heads)
	return heads, list, err
}

// appendTeam writes the new version of a team memory that an erasure makes. It keeps the head's quotes if the write
// says so.
func (e *eraser) appendTeam(ctx context.Context, head reverie.Memory, w reverie.TeamWrite) error {
	w.Memory.Origin, w.Memory.Versions, w.Memory.UpdatedAt = reverie.Origin{}, nil, head.LastSupportedAt
	if w.Quotes {
		list := []reverie.TeamMemory{w.Memory}
		if err := teams.FillTeamEvidence(ctx, e.t, e.group(), list); err != nil {
			return err
		}
		w.Memory = list[0]
	}
	return teams.AppendTeam(ctx, e.db, e.t, e.group(), &head, w, reverie.NewID())
}
