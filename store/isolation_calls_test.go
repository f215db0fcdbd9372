package store_test

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"reverie/internal/reverie"
)

// ofAllGroups are the methods that are about no one group by purpose.
var ofAllGroups = map[string]string{
	"Ping": "asks for a sign of life", "DB": "hands out the pool", "Watched": "hands out the store", "Close": "closes", "Info": "tells of the server", "Ready": "tells of the server", "CheckSchema": "tells of the schema",
	"Reader": "tells of the role that reads", "Setting": "is a test's", "KeepOpen": "is a test's", "Isolation": "is a test's", "Deployment": "tells what this database is called",
	"SpendSince": "adds up the budget of all groups", "MeanOutput": "tells how long answers are", "LastAsked": "tells where all groups' work goes on",
	"HasTokens": "tells whether there is any", "Token": "finds who asks, whoever that is", "PageSession": "finds who asks, whoever that is",
	"EndPageSession": "logs out by the secret of the cookie", "RevokeToken": "is the operator's, by the token's id", "ResumeParked": "is the operator's, for all groups",
	"Endless": "lists the groups in which to clean up", "FindSession": "is the operator's, who names no group", "AddGroup": "makes a group that nobody has",
	"ModelCalibration": "tells what cosines of a model mean", "KeepModelCalibration": "tells what cosines of a model mean",
	"Sweep": "gives room back to the server", "AddTeam": "makes a team that nobody has", "Groups": "gives the groups of a list",
	"AssignBatch": "makes a batch of all groups' questions", "ClaimBatch": "is a batch's, which is no group's", "BatchSubmitted": "is a batch's", "WithdrawBatch": "is a batch's",
	"BatchQuestions": "is a batch's", "CloseBatch": "is a batch's", "CancellingBatch": "is a batch's", "BatchesOut": "lists batches", "ListBatches": "lists batches", "GetBatch": "is a batch's",
	"KnownBatches": "lists batches", "WantedBatches": "lists batches", "QuestionsOut": "sums up what batches have out", "SweepBatches": "forgets what no run goes on with",
	"AddWebhook": "adds one for whoever may", "Webhooks": "is asked by an administrator, for a group or all", "Webhook": "is asked by an administrator, for a group or all",
	"RemoveWebhook": "is a webhook's, by its id", "ReplayEvents": "is a webhook's, by its id", "DueLanes": "looks for what is to be sent for all groups",
	"OldestEvent": "tells how long all groups' events wait", "SweepEvents": "forgets old events of all groups",
	"Link": "is about two groups", "Unlink": "is about two groups",
	"UnderWay": "tells of the runs of all groups, from which the API takes those that the caller sees",
}

// numbers are those that return no text of a group, and change nothing.
var numbers = map[string]bool{"Candidates": true,
	"CountPending": true, "WaitingChanges": true, "For": true, "DreamSigns": true, "CachedEmbeddings": true, "VectorModels": true, "StandingLineages": true,
	"NearestHeads": true, "MessageCounts": true, "PendingWindows": true, "WindowLoads": true, "LastWork": true, "GroupTeam": true, "UsageOf": true,
	"CompareRecords": true, "Overview": true, "Activity": true, "PlanSeal": true, "Accounts": true, "Rewindable": true, "EnsureGroup": true, "Audit": true, "WholeID": true, "Shared": true}

var (
	always   = time.Time{}
	later    = noon.Add(time.Hour)
	earlier  = noon.Add(-time.Hour)
	parking  = reverie.ParkRule{After: 3, RetryAfter: time.Minute, MaxRetryAfter: time.Hour}
	homeTeam = reverie.TeamGroupID(home)
	remote   = "https://other.example"
	ofNobody = "aaaaaaaa-0000-7000-8000-00000000ffff"
	windows  = []reverie.Window{{Date: "2026-01-15", Since: earlier, Until: later}}
	search   = reverie.SearchQuery{GroupID: home, Texts: []string{"likes tea"}, Vector: []float32{1, 0, 0}, Model: model}
)

// records are rows of an export or of an import.
type records []reverie.Record

func (l *records) Begin(int) error { return nil }

func (l *records) Write(rec reverie.Record) error { *l = append(*l, rec); return nil }

func (a asked) plan(steps ...reverie.Step) reverie.Plan {
	return reverie.Plan{GroupID: home, RunID: a.evolving, ChunkNo: 1, Kind: reverie.KindGroup, Steps: steps,
		Outcomes: map[string]reverie.Outcome{a.msg: reverie.OutcomeCited}}
}

func (a asked) head() reverie.Head { return reverie.Head{MemoryID: a.mem, Version: 1} }

func (a asked) lane() reverie.WebhookLane {
	return reverie.WebhookLane{GroupID: home, WebhookID: string(seedUUID(31))}
}

func (a asked) removal() reverie.Step {
	return reverie.Step{Action: reverie.ActionDelete, LineageID: a.lin, Head: a.head(), Reason: "gone"}
}

func (a asked) memory() reverie.Memory {
	return reverie.Memory{GroupID: home, ID: a.mem, LineageID: a.lin, Statement: "likes tea", Version: 1}
}

func (a asked) teamMemory() reverie.TeamMemory {
	return reverie.TeamMemory{ID: a.lin, VersionID: a.mem2, Version: 2, Statement: "likes coffee", Status: reverie.StatusActive, Strength: 0.5,
		CreatedAt: noon, UpdatedAt: later, Origin: reverie.Origin{Deployment: "other", MemoryID: a.mem2, LineageID: a.lin, Version: 1, MadeAt: noon}}
}

func (a asked) teamWrite() reverie.TeamWrite {
	return reverie.TeamWrite{Team: home, Memory: a.teamMemory(), IfVersion: a.mem, RequestKey: "k2", BodySHA256: "b2"}
}

// taken is the seed's event, as whoever has it names it.
func taken(a asked) reverie.WebhookEvent {
	return reverie.WebhookEvent{WebhookLane: a.lane(), ID: string(seedUUID(32).of(home)), TakenFor: time.Unix(0, 0)}
}

// calls names home in each method, and ids that may be another group's.
var calls = map[string]func(a asked) []any{
	"AcquireLease": func(a asked) []any { return r(a.AcquireLease(ctx(), home, "other", "h", time.Minute)) },
	"EventFailed": func(a asked) []any {
		return r(a.EventFailed(ctx(), taken(a),
			reverie.WebhookFailure{Why: "no", EventAgain: later, HookAgain: later}))
	},
	"EventSent": func(a asked) []any {
		return r(a.EventSent(ctx(), taken(a)))
	},
	"TakeEvent":    func(a asked) []any { return r(a.TakeEvent(ctx(), a.lane(), time.Minute)) },
	"Audit":        func(a asked) []any { return r(a.Audit(ctx(), home)) },
	"RenewLease":   func(a asked) []any { return r(a.RenewLease(ctx(), a.lease, time.Minute)) },
	"ReleaseLease": func(a asked) []any { return r(a.ReleaseLease(ctx(), a.lease)) },

	"Answers":    func(a asked) []any { return r(a.Answers(ctx(), home, a.run, "evolve")) },
	"RunEffects": func(a asked) []any { return r(a.RunEffects(ctx(), home, a.run)) },
	"SaveAnswer": func(a asked) []any {
		return r(a.SaveAnswer(ctx(), a.lease, reverie.Answer{GroupID: home, RunID: a.run, InputSHA256: "new", Purpose: "evolve", Text: "x"}))
	},
	"AdoptAnswers": func(a asked) []any { return r(a.AdoptAnswers(ctx(), a.lease, home, a.run, a.held)) },
	"RecordCall": func(a asked) []any {
		return r(a.RecordCall(ctx(), reverie.Call{GroupID: home, RunID: &a.run, ID: reverie.NewID(), Purpose: "p", Outcome: "ok", CreatedAt: noon}))
	},
	"Costs": func(a asked) []any {
		return r(a.Costs(ctx(), reverie.CostQuery{GroupID: home, Since: earlier, Until: later, Limit: 9}))
	},

	"PutQuestion": func(a asked) []any {
		return r(a.PutQuestion(ctx(), reverie.BatchQuestion{GroupID: home, ID: reverie.NewID(), RunID: a.run, InputSHA256: "in", Nth: 7, Nonce: "n"}, 2, earlier))
	},
	"WithholdQuestion": func(a asked) []any {
		return r(a.WithholdQuestion(ctx(), reverie.BatchQuestion{GroupID: home, RunID: a.run, InputSHA256: "in"}))
	},
	"KeepAnswer": func(a asked) []any { return r(a.KeepAnswer(ctx(), home, a.again, "x", "stop")) },
	"TakeAnswer": func(a asked) []any {
		return r(a.TakeAnswer(ctx(), a.batch, reverie.BatchAnswer{Question: reverie.BatchQuestion{GroupID: home, ID: a.question, Status: reverie.QuestionAnswered, Answer: "x"},
			Call: &reverie.Call{GroupID: home, Outcome: "ok", CreatedAt: noon}}))
	},

	"Remembered": func(a asked) []any {
		reply, entity, err := a.Remembered(ctx(), home, "u1")
		return []any{reply, entity, err}
	},
	"NoteChanges": func(a asked) []any {
		return r(a.NoteChanges(ctx(), home, []reverie.MessageChange{{ID: a.msg, Deleted: true}}))
	},
	"WaitingChanges": func(a asked) []any { return r(a.WaitingChanges(ctx(), home)) },
	"ApplyChanges":   func(a asked) []any { return r(a.ApplyChanges(ctx(), a.lease)) },

	"StartRun": func(a asked) []any {
		return r(a.StartRun(ctx(), a.lease, reverie.Run{ID: "", Job: reverie.JobEvolve, WindowSince: earlier, WindowUntil: later}))
	},
	"OpenRun": func(a asked) []any {
		return r(a.OpenRun(ctx(), a.lease, reverie.Run{Job: reverie.JobDream, WindowSince: earlier, WindowUntil: later}, reverie.Chunk{No: 1, Status: reverie.ChunkOpen}, a.run))
	},
	"FinishRun": func(a asked) []any {
		return r(a.FinishRun(ctx(), a.lease, reverie.Run{ID: a.run, Job: reverie.JobEvolve, Status: reverie.RunSucceeded}))
	},
	"Runs":    func(a asked) []any { return r(a.Runs(ctx(), reverie.RunQuery{GroupID: home, Limit: 9})) },
	"Run":     func(a asked) []any { return r(a.Run(ctx(), home, a.run)) },
	"RunUpTo": func(a asked) []any { return r(a.RunUpTo(ctx(), home, a.held, 9)) },
	"SoFar":   func(a asked) []any { return r(a.SoFar(ctx(), home, a.run)) },
	"SaveChunk": func(a asked) []any {
		return r(a.SaveChunk(ctx(), a.lease, reverie.Chunk{RunID: a.run, No: 2, MessageIDs: []string{a.msg}, Status: reverie.ChunkOpen}))
	},
	"Resume":        func(a asked) []any { return r(a.Resume(ctx(), a.lease, reverie.JobEvolve, earlier, later)) },
	"ResumeSession": func(a asked) []any { return r(a.ResumeSession(ctx(), a.lease, reverie.JobExtract, a.ses)) },
	"ResumeDream":   func(a asked) []any { return r(a.ResumeDream(ctx(), a.lease)) },
	"Settle":        func(a asked) []any { return r(a.Settle(ctx(), a.lease, reverie.JobEvolve)) },
	"RejectHeld":    func(a asked) []any { return r(a.RejectHeld(ctx(), a.lease, home, a.held, true)) },
	"ApplyHeld": func(a asked) []any {
		return r(a.ApplyHeld(ctx(), a.lease, reverie.HeldPlan{GroupID: home, RunID: a.held, ChunkNo: 1, Kind: reverie.KindGroup}, []reverie.Step{a.removal()}, nil))
	},
	"Rewindable": func(a asked) []any { return r(a.Rewindable(ctx(), home, earlier)) },
	"Undo": func(a asked) []any {
		return r(a.Undo(ctx(), a.lease, reverie.UndoQuery{GroupID: home, RunID: a.run, Requeue: true, Force: true}))
	},
	"UndoAll": func(a asked) []any {
		return r(a.UndoAll(ctx(), a.lease, reverie.UndoQuery{GroupID: home, Requeue: true, DryRun: true}, []string{a.run, a.held}))
	},
	"LastWork": func(a asked) []any { return r(a.LastWork(ctx(), home, later)) },
	"Work":     func(a asked) []any { return r(a.Work(ctx(), home, earlier, later, 9)) },
	"EvolveRuns": func(a asked) []any {
		_, _ = a.FinishRun(ctx(), a.lease, reverie.Run{ID: a.run, Job: reverie.JobEvolve, Status: reverie.RunSucceeded})
		return r(a.EvolveRuns(ctx(), home, always, always))
	},
	"PastState": func(a asked) []any {
		return r(a.PastState(ctx(), reverie.PastQuery{GroupID: home, RunID: a.run, At: later, MessageIDs: []string{a.msg},
			MemoryIDs: []string{a.mem}, Days: 1, ContextLimit: 9}))
	},
	"Overview": func(a asked) []any {
		return r(a.Overview(ctx(), reverie.OverviewQuery{GroupID: home, SilentSince: later, Limit: 9}))
	},
	"Activity": func(a asked) []any { return r(a.Activity(ctx(), []string{home}, earlier, 1)) },
	"RunWork":  func(a asked) []any { return r(a.RunWork(ctx(), home, []string{a.run, a.held}, 9)) },
	"Propose": func(a asked) []any {
		plan := a.plan(a.removal())
		plan.RunID, plan.Outcomes = reverie.NewID(), nil
		return r(a.Propose(ctx(), reverie.Run{GroupID: home, ID: plan.RunID, Job: reverie.JobPropose}, plan))
	},
	"ProposalState": func(a asked) []any {
		return r(a.ProposalState(ctx(), reverie.Proposal{GroupID: home, Action: reverie.ActionDelete, MemoryID: a.mem, Evidence: []reverie.Evidence{{MessageID: a.msg}}}))
	},

	"ListMemories": func(a asked) (all []any) {
		for _, q := range []reverie.MemoryQuery{{}, {At: later}, {At: later, Recorded: true}} {
			q.GroupID = home
			all = append(all, r(a.ListMemories(ctx(), q))...)
		}
		return all
	},
	"Memory":      func(a asked) []any { return r(a.Memory(ctx(), home, a.mem)) },
	"JudgeAgain":  func(a asked) []any { return r(a.JudgeAgain(ctx(), home, []string{a.mem})) },
	"LineageHead": func(a asked) []any { return r(a.LineageHead(ctx(), home, a.lin)) },
	"HistoryAt": func(a asked) []any {
		return append(r(a.HistoryAt(ctx(), home, a.mem, reverie.When{At: later})), r(a.HistoryAt(ctx(), home, a.mem,
			reverie.When{At: later, Recorded: true}))...)
	},
	"Between": func(a asked) []any {
		return append(r(a.Between(ctx(), reverie.BetweenQuery{GroupID: home, From: earlier, To: later})),
			r(a.Between(ctx(), reverie.BetweenQuery{GroupID: home, From: earlier, To: later, Recorded: true}))...)
	},
	"Why": func(a asked) []any { return r(a.Why(ctx(), home, a.mem)) },
	"WhyAt": func(a asked) []any {
		return append(r(a.WhyAt(ctx(), home, a.mem, reverie.When{At: later})), r(a.WhyAt(ctx(), home, a.mem,
			reverie.When{At: later, Recorded: true}))...)
	},
	"Changes":     func(a asked) []any { return r(a.Changes(ctx(), home, earlier, later, 9)) },
	"MemoryStats": func(a asked) []any { return r(a.MemoryStats(ctx(), home)) },
	"Search": func(a asked) []any {
		said, recorded := search, search
		said.At, recorded.At, recorded.Recorded = later, later, true
		return append(append(r(a.Search(ctx(), search)), r(a.Search(ctx(), said))...), r(a.Search(ctx(), recorded))...)
	},
	"NearestHeads": func(a asked) []any { return r(a.NearestHeads(ctx(), home, "", model, [][]float32{{1, 0, 0}}, 9)) },
	"Candidates": func(a asked) []any {
		return r(a.Candidates(ctx(), reverie.CandidateQuery{GroupID: home, Kind: reverie.KindGroup, Model: model, Limit: 9,
			Probes: []reverie.Probe{{ID: reverie.NewID(), Text: "likes tea", Vector: []float32{1, 0, 0}}}}))
	},
	"Gather": func(a asked) []any {
		return r(a.Gather(ctx(), reverie.GatherQuery{GroupID: home, Kind: reverie.KindGroup, Until: later, Limit: 9, ContextSince: earlier, ContextLimit: 9}))
	},
	"Apply": func(a asked) []any { return r(a.Apply(ctx(), a.lease, a.plan(a.removal()))) },
	// That any group's run has the id is told on purpose: ids of runs are the operator's.
	"PlanState": func(a asked) []any { return r(a.PlanState(ctx(), home, ofNobody, []string{a.msg})) },
	"PlanSeal": func(a asked) []any {
		seal, err := a.PlanSeal(ctx(), home, "a")
		return r(len(seal), err)
	},
	"ApplyPlanned": func(a asked) []any {
		plan := a.plan(a.removal())
		plan.RunID = ofNobody
		changes, pending, err := a.ApplyPlanned(ctx(), a.lease, reverie.PlannedRun{Heads: []string{a.mem}, Plans: []reverie.Plan{plan}, Chunks: []reverie.Chunk{{No: 1}},
			Run: reverie.Run{GroupID: home, ID: plan.RunID, Job: reverie.JobEvolve, Status: reverie.RunSucceeded, WindowSince: earlier, WindowUntil: later}})
		return []any{changes, pending, err}
	},
	"Edit": func(a asked) []any {
		return r(a.Edit(ctx(), reverie.Edit{GroupID: home, MemoryID: a.mem, Action: reverie.ActionDelete, Reason: "wrong"}))
	},
	"CleanList": func(a asked) []any { return r(a.CleanList(ctx(), reverie.CleanQuery{GroupID: home, Below: 1})) },
	"Clean": func(a asked) []any {
		return r(a.Clean(ctx(), reverie.CleanQuery{GroupID: home, Below: 1}, []string{a.mem, a.mem2}, "weak"))
	},
	"MissingEmbeddings": func(a asked) []any { return r(a.MissingEmbeddings(ctx(), home, "other@3", always, 9)) },
	"VectorModels":      func(a asked) []any { return r(a.VectorModels(ctx(), home)) },
	"SetEmbeddings": func(a asked) []any {
		return r(a.SetEmbeddings(ctx(), home, "other@3", map[string][]float32{a.mem: {0, 1, 0}}))
	},
	"CachedEmbeddings": func(a asked) []any { return r(a.CachedEmbeddings(ctx(), home, model, []string{hash("x"), hash("y")})) },
	"SaveEmbeddings": func(a asked) []any {
		return r(a.SaveEmbeddings(ctx(), home, model, map[string][]float32{hash("z"): {0, 1, 0}}))
	},
	"StandingLineages": func(a asked) []any { return r(a.StandingLineages(ctx(), home, []string{a.lin, a.lin2})) },
	"EvidenceOf":       func(a asked) []any { return r(a.EvidenceOf(ctx(), home, []string{a.lin, a.lin2})) },

	"ImportMessages": func(a asked) []any {
		return r(a.ImportMessages(ctx(), home, []reverie.Message{{ID: a.msg + "-new", Author: "小明", Role: reverie.RoleUser, Text: "x", SentAt: noon, SessionID: a.ses, ReplyTo: a.msg},
			{ID: a.msg, Author: "小明", Role: reverie.RoleUser, Text: "y", SentAt: noon}}))
	},
	"MessageCounts": func(a asked) []any { return r(a.MessageCounts(ctx(), home)) },
	"CountPending":  func(a asked) []any { return r(a.CountPending(ctx(), home, earlier, later)) },
	"Conversation": func(a asked) []any {
		return r(a.Conversation(ctx(), reverie.MessageQuery{GroupID: home, Around: a.msg, Limit: 9}))
	},
	"QueueMessages":  func(a asked) []any { return r(a.QueueMessages(ctx(), home, reverie.JobDream, always, always)) },
	"PendingWindows": func(a asked) []any { return r(a.PendingWindows(ctx(), home, windows)) },
	"WindowLoads":    func(a asked) []any { return r(a.WindowLoads(ctx(), home, windows)) },
	"DueGroups": func(a asked) []any {
		return r(a.DueGroups(ctx(), reverie.DueQuery{Job: reverie.JobEvolve, GroupID: home, Limit: 9}))
	},
	"Session": func(a asked) []any { return r(a.Session(ctx(), home, a.ses)) },
	"ListSessions": func(a asked) []any {
		return r(a.ListSessions(ctx(), reverie.SessionFilter{GroupID: home, SessionID: a.ses}))
	},
	"SessionSummary": func(a asked) []any { return r(a.SessionSummary(ctx(), home, a.ses)) },
	"GatherSession": func(a asked) []any {
		return r(a.GatherSession(ctx(), reverie.SessionQuery{GroupID: home, SessionID: a.ses, Limit: 9}))
	},
	"GatherFold": func(a asked) []any { return r(a.GatherFold(ctx(), home, a.ses)) },
	"ApplyFold": func(a asked) []any {
		return r(a.ApplyFold(ctx(), a.lease, reverie.SessionFold{MessageIDs: []string{a.msg}, Turns: 1, Summary: reverie.SessionSummary{GroupID: home, SessionID: a.ses,
			Summary: "they talked", Messages: 1, RunID: a.extracting, FirstMessageID: a.msg, LastMessageID: a.msg, CoversSince: noon, CoversUntil: noon}}))
	},
	"NoteSession": func(a asked) []any { return r(a.NoteSession(ctx(), home, a.ses, "no", parking)) },
	"NoteFold":    func(a asked) []any { return r(a.NoteFold(ctx(), home, a.ses, parking)) },
	"Sessions":    func(a asked) []any { return r(a.Sessions(reverie.SessionRule{Turns: 1}).DueSessions(ctx(), home)) },
	"For":         func(a asked) []any { return r(a.For(reverie.JobImpression).CountPending(ctx(), home, always, later)) },
	"Dreams":      func(a asked) []any { return r(a.Dreams().DueGroups(ctx(), reverie.DueQuery{GroupID: home, Limit: 9})) },
	"Upkeeps":     func(a asked) []any { return r(a.Upkeeps().DueGroups(ctx(), reverie.DueQuery{GroupID: home, Limit: 9})) },
	"RecallState": func(a asked) []any {
		return r(a.RecallState(ctx(), reverie.RecallQuery{GroupID: home, SessionID: a.ses, Turns: 3, Text: "小明", Quotes: 9,
			Asked: []string{"小明 what is said"}, Until: later}))
	},

	"Dream":      func(a asked) []any { return r(a.Dream(ctx(), home)) },
	"DreamSigns": func(a asked) []any { return r(a.DreamSigns(ctx(), reverie.DreamQuery{GroupID: home})) },
	"GatherDream": func(a asked) []any {
		return r(a.GatherDream(ctx(), reverie.DreamQuery{GroupID: home, MemoryIDs: []string{a.mem, a.mem2}}))
	},

	"EntitiesAt":    func(a asked) []any { return r(a.EntitiesAt(ctx(), home, []string{a.ent, a.ent2}, later)) },
	"EntitiesByID":  func(a asked) []any { return r(a.EntitiesByID(ctx(), home, []string{a.ent, a.ent2})) },
	"Subjects":      func(a asked) []any { return r(a.Subjects(ctx(), home, []reverie.EntityChange{{EntityID: a.ent}})) },
	"FindEntities":  func(a asked) []any { return r(a.FindEntities(ctx(), home, "小明")) },
	"Entity":        func(a asked) []any { return r(a.Entity(ctx(), home, a.ent)) },
	"EntityHistory": func(a asked) []any { return r(a.EntityHistory(ctx(), home, a.ent)) },
	"ListEntities":  func(a asked) []any { return r(a.ListEntities(ctx(), home, reverie.EntityFilter{}, 9, 0)) },
	"GatherEntities": func(a asked) []any {
		return r(a.GatherEntities(ctx(), reverie.EntityQuery{GroupID: home, Limit: 9, Until: later}))
	},
	"WaitingObservations": func(a asked) []any { return r(a.WaitingObservations(ctx(), home, 9)) },
	"Of":                  func(a asked) []any { return r(a.Of(ctx(), reverie.Entity{GroupID: home, ID: a.ent})) },
	"Shared":              func(a asked) []any { return r(a.Shared(ctx(), home, true)) },
	"MergeEntities":       func(a asked) []any { return r(a.MergeEntities(ctx(), home, a.ent, a.ent2, "one person")) },
	"UnmergeEntity":       func(a asked) []any { return r(a.UnmergeEntity(ctx(), home, a.ent2, "two")) },
	"ApplyEntities": func(a asked) []any {
		return r(a.ApplyEntities(ctx(), a.lease, reverie.EntityPlan{GroupID: home, RunID: a.impressing, ChunkNo: 1, Heads: map[string]int{a.ent: 1},
			Names: []reverie.EntityName{{EntityID: a.ent, Kind: reverie.NameAlias, Name: "明明"}}, Expired: []string{a.obs}, Outcomes: map[string]reverie.Outcome{a.msg: reverie.OutcomeCited}}))
	},

	"LogUsage": func(a asked) []any {
		return r(a.LogUsage(ctx(), []reverie.Usage{{GroupID: home, UsageID: reverie.NewID(), MemoryID: a.mem, LineageID: a.lin, SessionID: a.ses, Position: 1}}))
	},
	"Offered": func(a asked) []any {
		return r(a.Offered(ctx(), reverie.UsageQuery{GroupID: home, SessionID: a.ses, UsageID: a.usage}))
	},
	"UsageOf": func(a asked) []any { return r(a.UsageOf(ctx(), home, []string{a.lin})) },
	"Judge": func(a asked) []any {
		return r(a.Judge(ctx(), home, a.usage, []reverie.UsageVerdict{{MemoryID: a.mem, Referenced: true, Score: 1}}, reverie.WeightRule{Referenced: 0.1, Ignored: -0.1, Max: 2}))
	},

	"Upkeep": func(a asked) []any { return r(a.Upkeep(ctx(), reverie.UpkeepQuery{GroupID: home, Expiry: a.expiry()})) },
	"FadingMemories": func(a asked) []any {
		return r(a.FadingMemories(ctx(), reverie.FadingQuery{GroupID: home, Rule: reverie.FadeRule{Threshold: 2}, Limit: 9}))
	},
	"Fade": func(a asked) []any {
		return r(a.Fade(ctx(), a.lease, reverie.Run{GroupID: home, ID: a.maintaining}, []reverie.Fading{{HeadState: reverie.HeadState{Memory: a.memory()}, Reason: "faded"}}))
	},
	"Prune": func(a asked) []any {
		return r(a.Prune(ctx(), a.lease, reverie.PruneBatch{Run: reverie.Run{GroupID: home, ID: a.maintaining}, Limit: 9, Expiry: a.expiry()}))
	},
	"NoteFailure":  func(a asked) []any { return r(a.NoteFailure(ctx(), home, reverie.JobEvolve, "no", parking)) },
	"ClaimNotice":  func(a asked) []any { return r(a.ClaimNotice(ctx(), home, "held_plan", time.Hour)) },
	"ClearSetback": func(a asked) []any { return r(a.ClearSetback(ctx(), home, reverie.JobEvolve)) },

	"Talk":    func(a asked) []any { return r(a.Talk(ctx(), home, []string{"2026-02-01"})) },
	"WholeID": func(a asked) []any { return r(a.WholeID(ctx(), reverie.IDMemory, home, a.mem[:8])) },

	"EnsureGroup": func(a asked) []any { return r(a.EnsureGroup(ctx(), reverie.Group{ID: home, Name: "x"})) },
	"ChangeGroup": func(a asked) []any {
		name := "new"
		return r(a.ChangeGroup(ctx(), home, reverie.GroupChange{Name: &name}, later))
	},
	"PauseGroup":   func(a asked) []any { return r(a.PauseGroup(ctx(), home)) },
	"ClearSession": func(a asked) []any { return r(a.ClearSession(ctx(), home, a.ses)) },
	"ResumeGroup":  func(a asked) []any { return r(a.ResumeGroup(ctx(), home)) },
	"Group":        func(a asked) []any { return r(a.Group(ctx(), home)) },
	"GroupTeam":    func(a asked) []any { return r(a.GroupTeam(ctx(), home)) },
	"GroupList":    func(a asked) []any { return r(a.GroupList(ctx(), reverie.GroupQuery{GroupID: home})) },
	"Tokens":       func(a asked) []any { return r(a.Tokens(ctx(), home)) },
	"AddToken": func(a asked) []any {
		return r(a.AddToken(ctx(), reverie.Token{GroupID: home, ID: a.tok + "2", Scope: reverie.ScopeRead, SHA256: make([]byte, 32), CreatedAt: noon}))
	},
	"UseToken": func(a asked) []any { return r(a.UseToken(ctx(), reverie.Token{GroupID: home, ID: a.tok}, later)) },
	"AddPageSession": func(a asked) []any {
		return r(a.AddPageSession(ctx(), reverie.PageSession{GroupID: home, SHA256: make([]byte, 32), TokenID: a.tok, CreatedAt: noon, ExpiresAt: later}))
	},
	"Pull": func(a asked) []any { return r(a.Pull(ctx(), home, "discord", "c1")) },
	"PullMessages": func(a asked) []any {
		p := reverie.Pull{GroupID: home, Source: "discord", ChatID: "c1"}
		return r(a.PullMessages(ctx(), p, []reverie.Message{{ID: "pulled", Author: "Lin", Text: "x", SentAt: noon}}, false))
	},
	"SavePull": func(a asked) []any {
		return r(a.SavePull(ctx(), reverie.Pull{GroupID: home, Source: "discord", ChatID: "c1", Messages: 5, PulledAt: noon}))
	},

	"Export": func(a asked) []any {
		var all records
		err := a.Export(ctx(), reverie.ExportQuery{GroupID: home}, &all)
		return r(err, all)
	},
	"TeamMemories": func(a asked) []any { return r(a.TeamMemories(ctx(), homeTeam, "", 9)) },
	"TeamMemory":   func(a asked) []any { return r(a.TeamMemory(ctx(), homeTeam, a.lin)) },
	"TeamEvidence": func(a asked) []any {
		list := []reverie.TeamMemory{{ID: a.lin, VersionID: a.mem}}
		return r(a.TeamEvidence(ctx(), homeTeam, list), list)
	},
	"TeamStates":    func(a asked) []any { return r(a.TeamStates(ctx(), home, remote, true)) },
	"TeamConflicts": func(a asked) []any { return r(a.TeamConflicts(ctx(), home)) },
	"TeamMemoryOf":  func(a asked) []any { return r(a.TeamMemoryOf(ctx(), home, a.mem)) },
	"LinkTeamMemory": func(a asked) []any {
		return r(a.LinkTeamMemory(ctx(), home, reverie.TeamLink{Remote: remote, LineageID: a.lin, LocalID: a.mem, RemoteID: a.mem2, Digest: "new", SyncedAt: later}))
	},
	"SaveTeamConflict": func(a asked) []any {
		return r(a.SaveTeamConflict(ctx(), reverie.TeamConflict{ID: a.conflict, Team: home, Remote: remote, LineageID: a.lin, LocalID: a.mem, Theirs: a.teamMemory(), CreatedAt: noon}))
	},
	"PutTeamMemory": func(a asked) []any {
		w := a.teamWrite()
		w.Link = &reverie.TeamLink{Remote: remote, RemoteID: a.mem2, Digest: "new", Resolution: "theirs"}
		return r(a.PutTeamMemory(ctx(), w))
	},
	"ShareMemory": func(a asked) []any {
		return r(a.ShareMemory(ctx(), reverie.TeamShare{Team: home, Memory: a.memory(), Reason: "shared"}))
	},

	"Accounts": func(a asked) []any { return r(a.Accounts(ctx(), home, "u1")) },
	"Erase": func(a asked) []any {
		return r(a.Erase(ctx(), a.lease, reverie.EraseQuery{GroupID: home, AuthorID: "u1"}))
	},
	"ReimportMessages": func(a asked) []any {
		return r(a.ReimportMessages(ctx(), home, []reverie.Message{{ID: a.msg + "-again", Author: "小明", Role: reverie.RoleUser, Text: "x", SentAt: noon}}))
	},

	"Texts": func(a asked) []any {
		var list []string
		err := a.Texts(ctx(), home, func(text reverie.StoredText) error { list = append(list, text.Text); return nil })
		slices.Sort(list) // those of a JSON document come in any order
		return r(err, list)
	},
	"CompareRecords": func(a asked) []any { return r(a.CompareRecords(ctx(), home, a.records())) },
	"WriteRecords":   func(a asked) []any { return r(a.WriteRecords(ctx(), home, a.records())) },
}

func ctx() context.Context { return context.Background() }

func (a asked) expiry() reverie.Expiry {
	return reverie.Expiry{ShortTerm: later, Messages: later, Answers: later, Usage: later}
}

// records are one of a use that is new.
func (a asked) records() []reverie.Record {
	row, err := json.Marshal(map[string]any{"lineage_id": a.lin2, "offered": 1, "referenced": 1, "ignored": 0, "last_offered_at": noon, "last_used_at": nil})
	check(a.t, err)
	return []reverie.Record{{GroupID: home, Type: reverie.RecordUsage, Row: row}}
}
