package store_test

import "reverie/internal/reverie"

var (
	idMemory, idLineage, idMemory2, idLineage2 = seedUUID(1), seedUUID(2), seedUUID(3), seedUUID(4)
	idRun, idHeldRun, idEntity, idEntity2      = seedUUID(5), seedUUID(6), seedUUID(7), seedUUID(8)
	idUsage, idObservation, idConflict         = seedUUID(9), seedUUID(10), seedUUID(11)
	idEvolving, idImpressing, idExtracting     = seedUUID(12), seedUUID(13), seedUUID(14)
	idMaintaining                              = seedUUID(15)
	idDreaming                                 = seedUUID(16)
	idMessage, idMessage2                      = seedID("m1"), seedID("m2")
	idSession, idToken                         = seedID("s1"), seedID("t1")
)

// seedColumns are the values of columns of that name in every table; nil leaves a column
// to its default. Text that is not here says whose it is.
var seedColumns = map[string]any{
	"memory_id": idMemory, "lineage_id": idLineage, "run_id": idRun, "entity_id": idEntity, "usage_id": idUsage,
	"observation_id": idObservation, "conflict_id": idConflict, "claim_id": seedUUID(20), "change_id": seedUUID(21),
	"question_id": seedUUID(27), "batch_id": seedUUID(28), "call_id": seedUUID(22), "name_id": seedUUID(23), "erasure_id": seedUUID(24), "local_id": idMemory, "remote_id": seedUUID(25),
	"origin_memory_id": idMemory, "origin_lineage_id": idLineage, "id": seedUUID(26), "source_id": idMemory2, "source_lineage_id": idLineage2,
	"old_id": nil, "parent_id": nil, "target_id": nil, "merged_into": nil, "settled_by": nil,
	"message_id": idMessage, "session_id": idSession, "token_id": idToken, "author_id": "u1", "author": "小明", "role": "user", "reply_to": "",
	"outcome": nil, "filter": "", "time_zone": "Asia/Shanghai", "language": "zh", "day_boundary": "04:00", "impressions": "on", "session_silence": "",
	"dream_idle": "", "dream_sessions": "", "dream_interval": "", "team": "crew", "lease_name": string(reverie.LeaseGroup), "holder": "h",
	"expires_at": "2100-01-01T00:00:00Z", "job": "evolve", "kind": "group", "status": "active", "action": "create", "content_hash": hash("x"),
	"embedding_model": model, "model": model, "purpose": "evolve", "scope": "read", "tags": []string{"food"}, "input_sha256": "in",
	"session": "s1", "source": "discord", "chat_id": "c1", "remote": "https://other.example", "request_key": "k1", "body_sha256": "b",
	"evidence": []any{}, "refusals": []any{}, "candidates": []any{}, "reactions": []any{}, "weight": 1.0, "origin_group_id": "", "versions": []any{},
	"embedding": "[1,0,0]", "attempt": 1, "fence": 1, "version": 1,
	"type": "fact", "due_on": nil, "said_until": nil, "private": "off", "other_group_id": "nowhere", "other_entity_id": seedUUID(31),
}

// seedRows are the rows of tables that have more than one, or values of their own.
var seedRows = map[string][]map[string]any{
	"messages": {{"run_id": nil, "seq": 1}, {"seq": 2, "message_id": idMessage2, "outcome": "cited", "session_id": idSession}},
	"memories": {{"kind": kindOf, "type": "plan", "author": ""}, {"author": "", "type": "fact", "due_on": nil, "memory_id": idMemory2, "lineage_id": idLineage2, "kind": "session", "content_hash": hash("y")}},
	"runs": {{"status": "succeeded", "finished_at": noon, "session_id": ""},
		{"run_id": idHeldRun, "status": "held", "finished_at": noon, "session_id": ""},
		{"run_id": idEvolving, "status": "running", "session_id": ""},
		{"run_id": idImpressing, "status": "running", "session_id": "", "job": "impression"},
		{"run_id": idExtracting, "status": "running", "job": "extract"},
		{"run_id": idMaintaining, "status": "running", "session_id": "", "job": "maintain"},
		{"run_id": idDreaming, "status": "running", "session_id": "", "job": "dream"}},
	"run_chunks": {{"status": "applied"}, {"run_id": idHeldRun, "status": "held"}, {"run_id": idEvolving, "status": "answered"},
		{"run_id": idImpressing, "status": "open"}, {"run_id": idExtracting, "status": "open"}, {"run_id": idDreaming, "status": "open"}},
	"message_changes": {{"edited_at": noon, "deleted": false}},
	"held_plans":      {{"run_id": idHeldRun, "status": "waiting", "plan": []any{}, "heads": []any{}}},
	"rejudgements":    {{"run_id": nil}}, // it waits
	"batch_questions": {{"status": "waiting", "nth": 0}, {"status": "again", "nth": 1, "question_id": seedUUID(29), "batch_id": nil}},
	"writes":          {{"write_id": seedUUID(33)}},
	"webhook_events":  {{"event_id": seedUUID(32), "type": "memory.created", "webhook_id": seedUUID(31), "done_at": nil, "attempts": 0, "due_at": "epoch"}},
	"webhooks":        {{"webhook_id": seedUUID(31), "events": []string{}, "failures": 0, "retry_at": "epoch"}},
	"llm_calls":       {{"outcome": "ok"}},
	"decisions":       {{"action": "ADD", "basis": "none", "decision_no": 1}},
	"entities":        {{"kind": "person"}, {"kind": "person", "entity_id": idEntity2}},
	"entity_names": {{"kind": "subject", "name": "小明", "name_key": "小明"},
		{"kind": "subject", "name": "小红", "name_key": "小红", "entity_id": idEntity2, "name_id": seedUUID(30)}},
	"entity_claims":       {{"aspect": "impression", "name": "", "name_key": "", "version": 1}},
	"entity_observations": {{"reason": "ambiguous", "status": "waiting", "body": func(group string) any { return map[string]any{"subject": group + "'s subject"} }}},
	"message_uses":        {{"job": "extract", "run_id": nil}, {"job": "impression", "run_id": nil}, {"job": "impression", "run_id": nil, "message_id": idMessage2}},
	"sessions":            {{"new_messages": 1, "new_turns": 1, "folded_messages": 0, "folded_tokens": 0, "folded_turns": 0, "folded_tool_calls": 0}},
	"memory_uses":         {{"job": "dream"}},
	"memory_origins": {{"body": func(group string) any {
		return reverie.Origin{Deployment: group + "'s deployment", MemoryID: string(idMemory), LineageID: string(idLineage), Version: 1, MadeAt: noon}
	}}},
	"team_conflicts":         {{"status": "open", "theirs": func(group string) any { return reverie.TeamMemory{Statement: group + "'s statement"} }}},
	"page_sessions":          {{}},
	"memory_scopes":          {{"scope": "person"}},
	"embedding_calibrations": {{"floor": 0.1, "related": 0.4, "ceiling": 0.8}},
}

// kindOf is the kind of a group's first memory.
func kindOf(group string) any {
	if _, team := reverie.TeamOf(group); team {
		return string(reverie.KindTeam)
	}
	return string(reverie.KindGroup)
}
