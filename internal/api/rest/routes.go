package rest

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"reverie/internal/api/problem"
	"reverie/internal/recall"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

const memoryTag = "memories"

// SessionQuery names a session, also by the old name of its parameter.
type SessionQuery struct {
	SessionID string `query:"session_id" doc:"Only what is of this session."`
	Session   string `query:"session" deprecated:"true" doc:"Old name of session_id."`
}

func (s SessionQuery) id() string { return cmp.Or(s.SessionID, s.Session) }

type listInput struct {
	GroupPath
	Paging
	AsOf
	SessionQuery
	Status string `query:"status" enum:"active,superseded,deprecated,archived,held,all" default:"active" doc:"Which versions; of an instant, those that were active then."`
	Kind   string `query:"kind" enum:"group,session,dream,team" doc:"Only memories of this kind."`
	Tag    string `query:"tag" doc:"Only what bears this tag."`
}

type searchInput struct {
	GroupPath
	AsOf
	Q         string `query:"q" required:"true" doc:"What to look for." example:"when do we meet?"`
	Limit     int    `query:"limit" minimum:"1" maximum:"200" default:"5" doc:"Results at most."`
	Threshold least  `query:"threshold" minimum:"0" maximum:"1"`
	Kind      string `query:"kind" enum:"group,session,dream,team" doc:"Only memories of this kind."`
}

// least is the minimum score of a search, and whether the request sets it.
type least struct {
	Score float64
	given bool
}

// Receiver returns the field for the score.
func (l *least) Receiver() reflect.Value { return reflect.ValueOf(l).Elem().Field(0) }

// OnParamSet records whether a score is given.
func (l *least) OnParamSet(given bool, _ any) { l.given = given }

// Schema is the parameter's schema in the OpenAPI document.
func (least) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeNumber, Description: "Least score, 0 to 1. Without one it is 0.7, where related texts begin; " +
		"and where no memory reaches that, the nearest three come with related false."}
}

type changesInput struct {
	GroupPath
	Days int `query:"days" minimum:"1" maximum:"3650" default:"7" doc:"How many days back."`
}

type historyInput struct {
	MemoryPath
	AsOf
}

type blameInput struct {
	MemoryPath
	AsOf
}

type diffInput struct {
	GroupPath
	From     instant `query:"from" required:"true" doc:"What was active at this instant is compared."`
	To       instant `query:"to" doc:"With what was active at this one; now, unless it says otherwise."`
	Recorded bool    `query:"recorded" doc:"Compare by when things were written, and not by when they were said."`
	Kind     string  `query:"kind" enum:"group,session,dream,team" doc:"Only memories of this kind."`
	Passing  bool    `query:"passing" doc:"List what came and went in between, too."`
}

type deleteInput struct {
	MemoryPath
	Reason string `query:"reason" maxLength:"300" doc:"Why: it is kept with the change."`
}

type reasonBody struct {
	_      struct{} `additionalProperties:"false"`
	Reason string   `json:"reason,omitempty" maxLength:"300" doc:"Why: it is kept with the change."`
}

type restoreInput struct {
	MemoryPath
	Reason string      `query:"reason" maxLength:"300" doc:"Why: it is kept with the change."`
	Body   *reasonBody `required:"false"`
}

type strengthBody struct {
	_        struct{} `additionalProperties:"false"`
	Strength float64  `json:"strength" minimum:"0" maximum:"1" doc:"How well supported it is; from 0.5 it is established." example:"0.8"`
	Reason   string   `json:"reason,omitempty" maxLength:"300" doc:"Why: it is kept with the change."`
}

type strengthInput struct {
	MemoryPath
	Reason string `query:"reason" maxLength:"300" doc:"Why, where the body does not say."`
	Body   strengthBody
}

// memories adds the routes of a group's memories.
func (r *room) memories() {
	add(r, operation{id: "list-memories"}, func(ctx context.Context, in *listInput) (reverie.ListReply, error) {
		status := reverie.Status(in.Status)
		if in.Status == "all" {
			status = ""
		}
		return r.service.List(ctx, reverie.MemoryQuery{GroupID: in.Group, Status: status, Kind: reverie.Kind(in.Kind),
			At: in.when.At, Recorded: in.when.Recorded,
			SessionID: in.id(), Tag: in.Tag, Limit: in.Limit, Offset: in.Offset})
	})
	add(r, operation{id: "search-memories"}, func(ctx context.Context, in *searchInput) (reverie.SearchReply, error) {
		q := recall.Query{GroupID: in.Group, Text: in.Q, Limit: in.Limit, Threshold: reverie.RelatedScore, OrNearest: true,
			At: in.when.At, Recorded: in.when.Recorded}
		if in.Threshold.given {
			q.Threshold, q.OrNearest = in.Threshold.Score, false
		}
		if in.Kind != "" {
			q.Kinds = []reverie.Kind{reverie.Kind(in.Kind)}
		}
		return r.service.Search(ctx, q)
	})
	add(r, operation{id: "get-memory"}, func(ctx context.Context, in *struct{ MemoryPath }) (reverie.ShowReply, error) {
		return r.service.Memory(ctx, in.Memory)
	})
	add(r, operation{id: "get-memory-history"}, func(ctx context.Context, in *historyInput) (reverie.HistoryReply, error) {
		return r.service.History(ctx, in.Memory, in.when)
	})
	add(r, operation{id: "get-memory-why"}, func(ctx context.Context, in *struct{ MemoryPath }) (reverie.WhyReply, error) {
		return r.service.Why(ctx, in.Memory)
	})
	add(r, operation{id: "get-memory-blame"}, func(ctx context.Context, in *blameInput) (reverie.BlameReply, error) {
		return r.service.Blame(ctx, in.Memory, in.when)
	})
	add(r, operation{id: "get-memory-diff"}, func(ctx context.Context, in *diffInput) (reverie.DiffReply, error) {
		return r.service.Diff(ctx, reverie.BetweenQuery{GroupID: in.Group, From: in.From.at, To: in.To.at,
			Recorded: in.Recorded, Kind: reverie.Kind(in.Kind)}, in.Passing)
	})
	add(r, operation{id: "list-changes"}, func(ctx context.Context, in *changesInput) (reverie.ChangesReply, error) {
		return r.service.Changes(ctx, in.Group, in.Days)
	})
	r.edits()
}

type addMemoryInput struct {
	GroupPath
	Body struct {
		_         struct{} `additionalProperties:"false"`
		Statement string   `json:"statement" maxLength:"500" doc:"What is to be remembered." example:"The group meets on Fridays."`
		WordsBody
	} `nameHint:"AddMemoryBody"`
}

type editMemoryInput struct {
	MemoryPath
	Body struct {
		_         struct{} `additionalProperties:"false"`
		Statement string   `json:"statement,omitempty" maxLength:"500" doc:"What it is to say; left out, it says what it says." example:"The group meets on Sundays."`
		Scope     string   `json:"scope,omitempty" enum:"group,person" doc:"How far it reaches, in a request of its own: no further than its group, or to the groups in which its person is linked."`
		WordsBody
	} `nameHint:"EditMemoryBody"`
}

// WordsBody is the content of a person's memory besides the statement.
type WordsBody struct {
	Tags   []string `json:"tags,omitempty" doc:"Its tags, in place of those that it has."`
	Type   string   `json:"type,omitempty" enum:"fact,habit,opinion,rule,plan,culture" doc:"What kind of thing it says; a new memory is a fact."`
	DueOn  string   `json:"due_on,omitempty" doc:"The date of a plan; none takes it away." example:"2026-01-15"`
	Reason string   `json:"reason" maxLength:"300" doc:"Why: it is kept with the change." example:"Ann asked for it."`
}

func (b WordsBody) words(statement string) reverie.Words {
	return reverie.Words{Statement: statement, Tags: b.Tags, Type: reverie.Type(b.Type), DueOn: b.DueOn}
}

// edits adds the routes of edits by persons.
func (r *room) edits() {
	add(r, operation{id: "add-memory"}, func(ctx context.Context, in *addMemoryInput) (reverie.MemoryReply, error) {
		return r.service.Edit(ctx, reverie.Edit{GroupID: in.Group, Action: reverie.ActionCreate, Reason: in.Body.Reason,
			Words: in.Body.words(in.Body.Statement)})
	})
	add(r, operation{id: "edit-memory"}, func(ctx context.Context, in *editMemoryInput) (reverie.MemoryReply, error) {
		e := reverie.Edit{MemoryID: in.Memory, Action: reverie.ActionUpdate, Reason: in.Body.Reason, Words: in.Body.words(in.Body.Statement)}
		if in.Body.Scope != "" {
			if in.Body.Statement+in.Body.Type+in.Body.DueOn != "" || in.Body.Tags != nil {
				return reverie.MemoryReply{}, problem.New(http.StatusUnprocessableEntity, "scope: set it in a request of its own, without words")
			}
			e.Action, e.Reach = reverie.ActionScope, reverie.Reach(in.Body.Scope)
		}
		return r.service.Edit(ctx, e)
	})
	add(r, operation{id: "delete-memory"}, func(ctx context.Context, in *deleteInput) (reverie.MemoryReply, error) {
		return r.service.Edit(ctx, reverie.Edit{MemoryID: in.Memory, Action: reverie.ActionDelete, Reason: in.Reason})
	})
	add(r, operation{id: "restore-memory"}, func(ctx context.Context, in *restoreInput) (reverie.MemoryReply, error) {
		e := reverie.Edit{MemoryID: in.Memory, Action: reverie.ActionRestore, Reason: in.Reason}
		if in.Body != nil && in.Body.Reason != "" {
			e.Reason = in.Body.Reason
		}
		return r.service.Edit(ctx, e)
	})
	add(r, operation{id: "set-memory-strength"}, func(ctx context.Context,
		in *strengthInput) (reverie.MemoryReply, error) {
		e := reverie.Edit{MemoryID: in.Memory, Action: reverie.ActionStrength, Value: in.Body.Strength, Reason: in.Reason}
		if in.Body.Reason != "" {
			e.Reason = in.Body.Reason
		}
		return r.service.Edit(ctx, e)
	})
}

const groupTag = "groups"

type groupsInput struct {
	After string `query:"after" doc:"Only groups after this id: the next of the page before."`
	Limit int    `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"Groups at most."`
	State string `query:"state" enum:"active,paused,parked" doc:"Only groups in this state."`
	Name  string `query:"name" maxLength:"200" doc:"Only groups whose id or name has this in it, in large or small letters."`
}

type oneGroupReply struct {
	Success bool `json:"success"`
	reverie.GroupReply
}

type groupStatsReply struct {
	Success bool `json:"success"`
	reverie.MemoryStats
}

type messagesInput struct {
	GroupPath
	SessionQuery
	Before string `query:"before" doc:"A message id: only older ones."`
	After  string `query:"after" doc:"A message id: only newer ones, the oldest of them first."`
	Around string `query:"around" doc:"A message id: it, and what was said before and after it."`
	Limit  int    `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"Messages at most."`
}

// streamInput passes a body on while it arrives.
type streamInput struct {
	GroupPath
	body    io.Reader
	charset string // the declared charset; "" if none
}

// Resolve takes the body of the request.
func (in *streamInput) Resolve(ctx huma.Context) []error {
	in.body = ctx.BodyReader()
	if _, params, err := mime.ParseMediaType(ctx.Header("Content-Type")); err == nil {
		in.charset = strings.ToLower(params["charset"])
	}
	return nil
}

type nightsInput struct {
	GroupPath
	Before string `query:"before" pattern:"^[0-9]{4}-[0-9]{2}-[0-9]{2}$" patternDescription:"a date such as 2026-01-15" doc:"Only nights before this date." example:"2026-01-15"`
	Limit  int    `query:"limit" minimum:"1" maximum:"60" default:"14" doc:"Nights at most."`
}

type sessionInput struct {
	GroupPath
	Session string `path:"session_id" doc:"The session's id, percent-encoded." example:"s1"`
}

// groups adds the routes of groups, their messages and their nights.
func (r *room) groups() {
	add(r, operation{id: "list-groups"}, func(ctx context.Context, in *groupsInput) (reverie.GroupsReply, error) {
		return r.service.Groups(ctx, reverie.GroupQuery{After: in.After, Limit: in.Limit,
			State: reverie.GroupState(in.State), Name: in.Name})
	})
	add(r, operation{id: "get-group"}, func(ctx context.Context, in *struct{ GroupPath }) (oneGroupReply, error) {
		g, err := r.service.Group(ctx, in.Group)
		return oneGroupReply{true, g}, err
	})
	add(r, operation{id: "get-group-stats"}, func(ctx context.Context, in *struct{ GroupPath }) (groupStatsReply, error) {
		s, err := r.service.Stats(ctx, in.Group)
		return groupStatsReply{true, s}, err
	})
	add(r, operation{id: "list-nights"}, func(ctx context.Context, in *nightsInput) (reverie.NightsReply, error) {
		return r.service.Nights(ctx, in.Group, in.Before, in.Limit)
	})
	add(r, operation{id: "list-messages"}, func(ctx context.Context, in *messagesInput) (reverie.MessagesReply, error) {
		return r.service.Messages(ctx, reverie.MessageQuery{GroupID: in.Group, SessionID: in.id(), Before: in.Before,
			After:  in.After,
			Around: in.Around, Limit: in.Limit})
	})
	add(r, operation{id: "clear-session"}, func(ctx context.Context, in *sessionInput) (reverie.ClearReply, error) {
		return r.service.ClearSession(ctx, in.Group, in.Session)
	})
	add(r, operation{id: "add-messages", body: &huma.RequestBody{Required: true,
		Content: map[string]*huma.MediaType{"application/x-ndjson": {Schema: &huma.Schema{Type: huma.TypeString},
			Example: messagesExample}}}},
		func(ctx context.Context, in *streamInput) (reverie.MessagesAdded, error) {
			if !slices.Contains([]string{"", "utf-8", "utf8", "us-ascii"}, in.charset) {
				return reverie.MessagesAdded{}, problem.New(http.StatusUnsupportedMediaType,
					"messages are read in UTF-8 alone: convert them first, as with iconv")
			}
			added, err := r.service.AddMessages(ctx, in.Group, in.body)
			if err == nil && added.BadCount > 0 && added.New+added.Known+added.Taken()+added.Same == 0 {
				return added, nothingAdded(added)
			}
			return added, err
		})
}

// MessagePath is the id of a message in a path.
type MessagePath struct {
	GroupPath
	Message string `path:"message_id" doc:"The message's id, percent-encoded." example:"m1"`
}

type editMessageInput struct {
	MessagePath
	Body struct {
		_        struct{}  `additionalProperties:"false"`
		Text     string    `json:"text" maxLength:"1048576" doc:"What the message says now." example:"See you on Sunday"`
		EditedAt time.Time `json:"edited_at,omitempty" doc:"When it was edited; now where it is not given. An older text than the stored one changes nothing." example:"2026-01-15T12:35:00Z"`
	} `nameHint:"EditMessageBody"`
}

// AuthorPath is the id of an author in a path.
type AuthorPath struct {
	GroupPath
	Author string `path:"author_id" doc:"The account's id on its platform, percent-encoded." example:"u1"`
}

type forgetInput struct {
	AuthorPath
	Body *struct {
		_         struct{} `additionalProperties:"false"`
		DryRun    bool     `json:"dry_run,omitempty" doc:"Do it, count, and take it back."`
		KeepNames []string `json:"keep_names,omitempty" maxItems:"100" doc:"Names that stay in the words of others, such as Will."`
	} `nameHint:"ForgetBody" required:"false"`
}

// live adds the routes of changes of messages, and of authors.
func (r *room) live() {
	add(r, operation{id: "edit-message"}, func(ctx context.Context, in *editMessageInput) (reverie.MessageChanged, error) {
		return r.service.EditMessage(ctx, in.Group, reverie.MessageChange{ID: in.Message, Text: &in.Body.Text,
			EditedAt: in.Body.EditedAt})
	})
	add(r, operation{id: "delete-message"}, func(ctx context.Context, in *struct{ MessagePath }) (reverie.MessageChanged, error) {
		return r.service.DeleteMessage(ctx, in.Group, in.Message)
	})
	add(r, operation{id: "get-author-memories"}, func(ctx context.Context, in *struct {
		AuthorPath
		Paging
	}) (reverie.AuthorMemoriesReply, error) {
		return r.service.AuthorMemories(ctx, in.Group, in.Author, in.Limit, in.Offset)
	})
	add(r, operation{id: "forget-author"}, func(ctx context.Context, in *forgetInput) (reverie.ForgetReply, error) {
		q := reverie.EraseQuery{GroupID: in.Group, AuthorID: in.Author}
		if in.Body != nil {
			q.DryRun, q.KeepNames = in.Body.DryRun, in.Body.KeepNames
		}
		return r.service.Forget(ctx, q)
	})
}

const messagesExample = `{"id":"m1","author":"Ann","text":"See you on Friday","sent_at":"2026-01-15T12:30:00Z"}` + "\n"

// nothingAdded returns the problem of a body without a valid line.
func nothingAdded(added reverie.MessagesAdded) *problem.Problem {
	p := problem.New(http.StatusUnprocessableEntity, "not one line could be taken as a message")
	for _, b := range added.Bad {
		p.Errors = append(p.Errors, problem.Detail{Location: fmt.Sprintf("body.line %d", b.Line), Message: text.Excerpt(b.Reason, problem.MaxMessage)})
	}
	return p
}

const recallTag = "recall"

type contextInput struct {
	GroupPath
	AsOf
	Query string `query:"query" maxLength:"10000" doc:"What the bot is asked." example:"when do we meet?"`
	SessionQuery
	MaxTokens int `query:"max_tokens" minimum:"0" maximum:"100000" doc:"Tokens of the text at most; 0 = as configured."`
}

type contextBody struct {
	_ struct{} `additionalProperties:"false"`
	AsOf
	Query     string `json:"query,omitempty" maxLength:"10000" doc:"What the bot is asked." example:"when do we meet?"`
	SessionID string `json:"session_id,omitempty" doc:"The session: its last turns are given, too."`
	Session   string `json:"session,omitempty" deprecated:"true" doc:"Old name of session_id."`
	MaxTokens int    `json:"max_tokens,omitempty" minimum:"0" maximum:"100000" doc:"Tokens of the text at most; 0 = as configured."`
}

type makeContextInput struct {
	GroupPath
	Body contextBody
}

func (in *makeContextInput) request() (recall.ContextRequest, error) {
	err := in.Body.choose()
	return recall.ContextRequest{GroupID: in.Group, SessionID: cmp.Or(in.Body.SessionID, in.Body.Session), Query: in.Body.Query,
		MaxTokens: in.Body.MaxTokens, At: in.Body.when.At, Recorded: in.Body.when.Recorded}, err
}

type feedbackInput struct {
	GroupPath
	Body struct {
		_        struct{} `additionalProperties:"false"`
		Usage    string   `json:"usage_id,omitempty" doc:"Of the context that was given."`
		Session  string   `json:"session_id,omitempty" doc:"Its newest context, where usage_id is not known."`
		Response string   `json:"response" minLength:"1" doc:"What the bot answered." example:"We meet on Friday at eight."`
	} `nameHint:"FeedbackBody"`
}

type proposalInput struct {
	GroupPath
	Body struct {
		_         struct{}           `additionalProperties:"false"`
		Action    string             `json:"action" enum:"create,update,delete" doc:"What is to be done."`
		MemoryID  string             `json:"memory_id,omitempty" doc:"The head that is to be updated or deleted."`
		Statement string             `json:"statement,omitempty" maxLength:"500" doc:"What is to be remembered (create, update)." example:"The group meets on Fridays."`
		Reason    string             `json:"reason" maxLength:"300" doc:"Why." example:"Ann said so twice."`
		Evidence  []proposalEvidence `json:"evidence,omitempty" maxItems:"20" doc:"Messages that say so."`
	} `nameHint:"ProposalBody"`
}

type proposalEvidence struct {
	_         struct{} `additionalProperties:"false"`
	MessageID string   `json:"message_id" minLength:"1" doc:"A message of the group."`
	Quote     string   `json:"quote,omitempty" maxLength:"2000" doc:"Words that stand in it."`
}

// recall adds the routes of bots: contexts and reports of answers.
func (r *room) recall() {
	add(r, operation{id: "get-context"}, func(ctx context.Context, in *contextInput) (reverie.ContextReply, error) {
		return r.service.Context(ctx, recall.ContextRequest{GroupID: in.Group, SessionID: in.id(), Query: in.Query,
			MaxTokens: in.MaxTokens, At: in.when.At, Recorded: in.when.Recorded})
	})
	add(r, operation{id: "make-context"}, func(ctx context.Context, in *makeContextInput) (reverie.ContextReply, error) {
		req, err := in.request()
		if err != nil {
			return reverie.ContextReply{}, err
		}
		return r.service.Context(ctx, req)
	})
	add(r, operation{id: "explain-context"}, func(ctx context.Context, in *makeContextInput) (reverie.Recalled, error) {
		req, err := in.request()
		if err != nil {
			return reverie.Recalled{}, err
		}
		return r.service.Explain(ctx, req)
	})
	add(r, operation{id: "give-feedback"}, func(ctx context.Context, in *feedbackInput) (reverie.FeedbackReply, error) {
		return r.service.Report(ctx, recall.FeedbackRequest{GroupID: in.Group, SessionID: in.Body.Session,
			UsageID: in.Body.Usage, Response: in.Body.Response})
	})
	add(r, operation{id: "propose-memory"}, func(ctx context.Context, in *proposalInput) (reverie.ProposalReply, error) {
		p := reverie.Proposal{GroupID: in.Group, Action: reverie.Action(in.Body.Action), MemoryID: in.Body.MemoryID,
			Statement: in.Body.Statement, Reason: in.Body.Reason}
		for _, e := range in.Body.Evidence {
			p.Evidence = append(p.Evidence, reverie.Evidence{MessageID: e.MessageID, Quote: e.Quote})
		}
		return r.service.Propose(ctx, p)
	})
}

const runTag = "runs"

type evolveInput struct {
	GroupPath
	Days int `query:"days" minimum:"0" maximum:"3650" default:"0" doc:"Show the model this many days of consumed messages, too."`
}

// runningReply says that a run continues.
type runningReply struct {
	Success bool              `json:"success"`
	GroupID string            `json:"group_id"`
	RunID   string            `json:"run_id,omitempty" doc:"Where it has come that far."`
	Status  reverie.RunStatus `json:"status"`
}

type evolveAnswer struct {
	Status   int
	Location string `header:"Location"`
	Body     any
}

type runsInput struct {
	Group  string  `query:"group" doc:"Only runs of this group."`
	Job    string  `query:"job" doc:"Only runs of this job, such as evolve or dream." maxLength:"40"`
	Status string  `query:"status" enum:"running,succeeded,held,deferred,failed,rejected" doc:"Only runs that stand so; held: of which a plan waits."`
	Since  instant `query:"since" doc:"Only runs that started at this instant or later."`
	Before string  `query:"before" doc:"A run id: only older ones."`
	Limit  int     `query:"limit" minimum:"1" maximum:"200" default:"20" doc:"Runs at most."`
}

type approveInput struct {
	RunPath
	Body *struct {
		_    struct{} `additionalProperties:"false"`
		Plan string   `json:"plan,omitempty" minLength:"1" doc:"Not accepted any more: what a run holds is approved or rejected as it is." deprecated:"true"`
	} `nameHint:"ApproveBody" required:"false"`
}

type rejectInput struct {
	RunPath
	Body *struct {
		_       struct{} `additionalProperties:"false"`
		Requeue bool     `json:"requeue,omitempty" doc:"Make its messages pending again."`
	} `nameHint:"RejectBody" required:"false"`
}

type undoInput struct {
	RunPath
	Body *struct {
		_       struct{} `additionalProperties:"false"`
		DryRun  bool     `json:"dry_run,omitempty" doc:"Say what it would come to, and write nothing."`
		Force   bool     `json:"force,omitempty" doc:"Put back what others have changed since, too."`
		Requeue bool     `json:"requeue,omitempty" doc:"Let what the run has read wait to be read again."`
		Reason  string   `json:"reason,omitempty" maxLength:"300" doc:"Why: it is kept with the changes."`
		Before  string   `json:"before_sha256,omitempty" doc:"The before_sha256 of a dry run: where something else is active by now, the answer is a 409."`
	} `nameHint:"UndoBody" required:"false"`
}

// query returns the requested undo.
func (in *undoInput) query() reverie.UndoQuery {
	q := reverie.UndoQuery{RunID: in.Run}
	if b := in.Body; b != nil {
		q.DryRun, q.Force, q.Requeue, q.Reason, q.Before = b.DryRun, b.Force, b.Requeue, b.Reason, b.Before
	}
	return q
}

// runs adds the routes for starting, reading and deciding on runs.
func (r *room) runs() {
	r.evolve()
	add(r, operation{id: "list-runs"}, func(ctx context.Context, in *runsInput) (reverie.RunsReply, error) {
		return r.service.Runs(ctx, reverie.RunQuery{GroupID: in.Group, Job: reverie.Job(in.Job),
			Status: reverie.RunStatus(in.Status),
			Since:  in.Since.at, Before: in.Before, Limit: in.Limit})
	})
	add(r, operation{id: "get-run"}, func(ctx context.Context, in *struct{ RunPath }) (reverie.RunReply, error) {
		return r.service.Run(ctx, in.Run)
	})
	add(r, operation{id: "approve-run"}, func(ctx context.Context, in *approveInput) (reverie.EvolveReply, error) {
		if in.Body != nil && in.Body.Plan != "" {
			return reverie.EvolveReply{}, fmt.Errorf("plan: what a run holds cannot be edited any more: "+
				"approve without it, or reject with requeue: %w", reverie.ErrInvalid)
		}
		return r.service.Approve(ctx, in.Run)
	})
	add(r, operation{id: "reject-run"}, func(ctx context.Context, in *rejectInput) (reverie.RejectReply, error) {
		return r.service.Reject(ctx, in.Run, in.Body != nil && in.Body.Requeue)
	})
	add(r, operation{id: "undo-run"}, func(ctx context.Context, in *undoInput) (reverie.UndoReply, error) {
		return r.service.Undo(ctx, in.query())
	})
}

// shape documents an answer of a shape.
func (r *room) shape(v any, description string) *huma.Response {
	schema := r.api.OpenAPI().Components.Schemas.Schema(reflect.TypeOf(v), true, "")
	return &huma.Response{Description: description, Content: map[string]*huma.MediaType{"application/json": {Schema: schema}}}
}

// evolve adds the only route with two kinds of answers.
func (r *room) evolve() {
	accepted := r.shape(runningReply{}, "It goes on: look at the run")
	accepted.Headers = map[string]*huma.Param{"Location": {Description: "The run",
		Schema: &huma.Schema{Type: huma.TypeString}}}
	op := operation{id: "evolve-group", answers: map[string]*huma.Response{"200": r.shape(reverie.EvolveReply{},
		"What it did"), "202": accepted}}
	register(r, op, func(ctx context.Context, in *evolveInput) (*evolveAnswer, error) {
		done, err := r.service.Evolve(ctx, in.Group, in.Days)
		if err != nil || done.Done {
			return &evolveAnswer{Status: http.StatusOK, Body: done.Reply}, err
		}
		a := &evolveAnswer{Status: http.StatusAccepted, Body: runningReply{true, in.Group, done.RunID, reverie.RunRunning}}
		if done.RunID != "" {
			a.Location = "/v1/runs/" + url.PathEscape(done.RunID)
		}
		return a, nil
	})
}

const peopleTag = "dreams and people"

type entitiesInput struct {
	GroupPath
	Paging
	Kind string `query:"kind" enum:"person,bot,thing" doc:"Only entities of this kind."`
	Name string `query:"name" maxLength:"80" doc:"Part of a name."`
}

type entityInput struct {
	GroupPath
	Entity string `path:"entity_id" doc:"The entity's id." example:"0197f3a0-2b3c-7d4e-8f5a-6b7c8d9e0f1a"`
}

type linkInput struct {
	GroupPath
	Entity string `path:"entity_id" doc:"The entity's id." example:"0197f3a0-2b3c-7d4e-8f5a-6b7c8d9e0f1a"`
	Body   struct {
		_      struct{} `additionalProperties:"false"`
		Group  string   `json:"group_id" minLength:"1" maxLength:"200" doc:"The other group's id." example:"telegram-chat2"`
		Entity string   `json:"entity_id" maxLength:"36" doc:"The entity's id there." example:"0197f3a0-2b3c-7d4e-8f5a-6b7c8d9e0f1b"`
	} `nameHint:"LinkBody"`
}

// ends returns the two entities of a link.
func (in *linkInput) ends() (a, b reverie.EntityEnd) {
	return reverie.EntityEnd{GroupID: in.Group, EntityID: in.Entity}, reverie.EntityEnd{GroupID: in.Body.Group, EntityID: in.Body.Entity}
}

type costsInput struct {
	Group string  `query:"group" doc:"Only what was spent for this group."`
	Since instant `query:"since" doc:"From this instant on; 30 days ago where it is not given."`
	Until instant `query:"until" doc:"Before this instant; now where it is not given."`
	Limit int     `query:"limit" minimum:"1" maximum:"200" default:"100" doc:"Rows at most, of each part."`
}

// people adds the routes of dreams, entities and costs.
func (r *room) people() {
	add(r, operation{id: "get-dream"}, func(ctx context.Context, in *struct{ GroupPath }) (reverie.DreamPage, error) {
		return r.service.Dream(ctx, in.Group)
	})
	add(r, operation{id: "list-entities"}, func(ctx context.Context, in *entitiesInput) (reverie.EntitiesReply, error) {
		return r.service.Entities(ctx, in.Group, reverie.EntityFilter{Kind: reverie.EntityKind(in.Kind), Name: in.Name},
			in.Limit, in.Offset)
	})
	add(r, operation{id: "get-entity"}, func(ctx context.Context, in *entityInput) (reverie.OneEntityReply, error) {
		return r.service.Entity(ctx, in.Group, in.Entity)
	})
	add(r, operation{id: "link-entity"}, func(ctx context.Context, in *linkInput) (reverie.LinksReply, error) {
		a, b := in.ends()
		return r.service.Link(ctx, a, b, true)
	})
	add(r, operation{id: "unlink-entity"}, func(ctx context.Context, in *linkInput) (reverie.LinksReply, error) {
		a, b := in.ends()
		return r.service.Link(ctx, a, b, false)
	})
	add(r, operation{id: "get-costs"}, func(ctx context.Context, in *costsInput) (reverie.CostsReply, error) {
		return r.service.Costs(ctx, reverie.CostQuery{GroupID: in.Group, Since: in.Since.at, Until: in.Until.at,
			Limit: in.Limit})
	})
}
