package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

// carrier makes the changes of a live group in the scratch, in one transaction.
type carrier struct {
	x       *Scratch
	t       *pg.Tx
	group   string
	from    time.Time
	to      any // an instant, or infinity
	except  pq.StringArray
	heads   map[string]*shadowHead // the newest version of each lineage in the scratch
	live    map[string]bool        // lineages of the live group
	same    map[string]string      // live versions, and what they are in the scratch
	carried reverie.Carried
	left    map[string]bool
}

// shadowHead is the newest version of a lineage in the scratch.
type shadowHead struct {
	ID        string `db:"memory_id"`
	LineageID string `db:"lineage_id"`
	Version   int
	Kind      string
	Hash      string `db:"content_hash"`
	Status    reverie.Status
	Born      time.Time `db:"created_at"`
	shadowValues
}

const shadowHeadsQuery = `select distinct on (lineage_id) memory_id, lineage_id, version, kind, content_hash, status, created_at,
		strength, weight, last_supported_at, decayed_at
	from memories where group_id = $1 order by lineage_id, version desc`

// Carry makes in the scratch what others than the runs except changed in the live group
// in [from, to): persons, dreams, extractions, approvals of what those runs held, undo,
// maintenance and use. A zero to is now. A change is made where the lineage says in the
// scratch what it said in the live group before the change; a lineage that the scratch
// has by another id is known by its text. Where the shadow has gone another way the
// change is left, and listed. A strength that differs moves by as much of its way.
//
// The runs that made the changes come along, so that a second Carry of the same stretch
// would make them twice: stretches follow one another.
func (x *Scratch) Carry(ctx context.Context, groupID string, from, to time.Time, except []string) (reverie.Carried, error) {
	var carried reverie.Carried
	err := x.once(ctx, fmt.Sprintf("carry over what became of group %q", groupID), func(ctx context.Context, t *pg.Tx) error {
		c := &carrier{x: x, t: t, group: groupID, from: from, to: pg.OrInfinity(to), except: append(pq.StringArray{}, except...),
			heads: map[string]*shadowHead{}, live: map[string]bool{}, same: map[string]string{}, left: map[string]bool{}}
		err := c.carry(ctx)
		carried = c.carried
		return err
	})
	return carried, err
}

func (c *carrier) carry(ctx context.Context) error {
	if err := c.load(ctx); err != nil {
		return err
	}
	for _, query := range carryRunsQueries {
		if err := c.exec(ctx, query); err != nil {
			return err
		}
	}
	events, err := c.events(ctx)
	if err != nil {
		return err
	}
	for _, e := range events {
		why, err := c.apply(ctx, e)
		if err != nil {
			return fmt.Errorf("%s of memory %s: %w", e.Action, e.ID, err)
		}
		if why == "" {
			c.carried.Changes++
			continue
		}
		if key := e.LineageID + string(e.Action); !c.left[key] {
			c.left[key] = true
			c.carried.Left = append(c.carried.Left, reverie.CarryLeft{LineageID: e.LineageID, Statement: e.Statement, Action: e.Action,
				At: e.At.UTC(), Reason: why})
		}
	}
	return c.records(ctx)
}

// load reads the scratch's heads, and which lineages the live group has.
func (c *carrier) load(ctx context.Context) error {
	var heads []shadowHead
	if err := c.t.Select(ctx, &heads, shadowHeadsQuery, c.group); err != nil {
		return err
	}
	for i := range heads {
		c.heads[heads[i].LineageID] = &heads[i]
	}
	var lineages []string
	if err := c.t.Select(ctx, &lineages, c.x.fromLive(`select distinct lineage_id from live.memories where group_id = $1`), c.group); err != nil {
		return err
	}
	for _, id := range lineages {
		c.live[id] = true
	}
	return nil
}

// exec runs a query about the stretch: $1 the group, $2 its end, $3 its beginning, $4
// the runs that are left out.
func (c *carrier) exec(ctx context.Context, query string, more ...any) error {
	_, err := c.t.Exec(ctx, c.x.fromLive(query), append([]any{c.group, c.to, c.from, c.except}, more...)...)
	return err
}

// find is the scratch's newest version of a live lineage: by its id, else by the text
// that the live one has, among what only the scratch has.
func (c *carrier) find(lineageID, kind, hash string) *shadowHead {
	if h := c.heads[lineageID]; h != nil {
		return h
	}
	return c.saying(kind, hash, func(h *shadowHead) bool { return !c.live[h.LineageID] })
}

// saying is the active memory of the scratch that makes a statement.
func (c *carrier) saying(kind, hash string, also func(*shadowHead) bool) *shadowHead {
	for _, h := range c.heads {
		if h.Status == reverie.StatusActive && h.Kind == kind && h.Hash == hash && also(h) {
			return h
		}
	}
	return nil
}

// Why a change is left.
const (
	leftMissing = "the shadow does not have the memory"
	leftOther   = "the memory says something else in the shadow"
	leftStatus  = "the memory is not %s in the shadow"
	leftTwin    = "another memory says it in the shadow"
)

// apply makes a change in the scratch, or says why it does not.
func (c *carrier) apply(ctx context.Context, e carryEvent) (why string, err error) {
	kind, hash := e.Kind, e.Hash
	if e.Is == eventVersion {
		hash = e.BeforeHash
	}
	var h *shadowHead
	if e.Is != eventVersion || e.BeforeID != nil {
		switch h = c.find(e.LineageID, kind, hash); {
		case h == nil:
			return leftMissing, nil
		case h.Hash != hash || h.Kind != kind:
			return leftOther, nil
		}
	}
	switch e.Is {
	case eventVersion:
		return c.version(ctx, e, h)
	case eventEnd:
		if h.Status != e.WasStatus {
			return fmt.Sprintf(leftStatus, e.WasStatus), nil
		}
		h.Status = e.Status
		c.same[e.ID] = h.ID
		_, err = c.t.Exec(ctx, `update memories set status = $3, ended_at = coalesce(ended_at, $4::timestamptz) where group_id = $1 and memory_id = $2`,
			c.group, h.ID, string(e.Status), e.EndedAt)
		return "", err
	}
	c.same[e.ID] = h.ID
	h.shadowValues = h.moved(e.old(), e.shadowValues)
	_, err = c.t.Exec(ctx, `update memories set strength = $3, weight = $4, last_supported_at = $5::timestamptz, decayed_at = $6::timestamptz
		where group_id = $1 and memory_id = $2`, c.group, h.ID, h.Strength, h.Weight, h.SupportedAt, h.DecayedAt)
	return "", err
}

// version makes a new version of the scratch's newest one, or a lineage.
func (c *carrier) version(ctx context.Context, e carryEvent, h *shadowHead) (why string, err error) {
	n := &shadowHead{ID: e.ID, LineageID: e.LineageID, Version: 1, Kind: e.Kind, Hash: e.Hash, Status: e.Status, Born: e.BornAt, shadowValues: e.shadowValues}
	var parent *string
	switch {
	case h == nil && c.heads[e.LineageID] != nil:
		return "the shadow has that memory already", nil
	case h == nil:
	case (h.Status == reverie.StatusActive) != (e.WasStatus == reverie.StatusActive):
		return fmt.Sprintf(leftStatus, e.WasStatus), nil
	default:
		n.LineageID, n.Version, n.Born, parent = h.LineageID, h.Version+1, h.Born, &h.ID
		n.shadowValues = h.moved(e.old(), e.shadowValues)
		c.same[*e.BeforeID] = h.ID
	}
	other := func(o *shadowHead) bool { return o.LineageID != n.LineageID }
	if n.Status == reverie.StatusActive && c.saying(n.Kind, n.Hash, other) != nil {
		return leftTwin, nil
	}
	if h != nil && (h.Status == reverie.StatusActive || h.Status == reverie.StatusHeld) {
		if _, err := c.t.Exec(ctx, `update memories set status = 'deprecated', ended_at = coalesce(ended_at, $3::timestamptz)
			where group_id = $1 and memory_id = $2`, c.group, h.ID, e.At); err != nil {
			return "", err
		}
	}
	c.heads[n.LineageID], c.same[e.ID] = n, e.ID
	_, err = c.t.Exec(ctx, c.x.fromLive(carryVersionQuery), c.group, e.ID, n.LineageID, parent, n.Version, n.Born, string(n.Status),
		n.Strength, n.Weight, n.SupportedAt, n.DecayedAt)
	return "", err
}

// records brings what is written of the changes: the change log, evidence, sources, and
// what waits to be judged again.
func (c *carrier) records(ctx context.Context) error {
	if err := c.supported(ctx); err != nil {
		return err
	}
	ids, to := pq.StringArray{}, pq.StringArray{}
	for id := range c.same {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		to = append(to, c.same[id])
	}
	for _, query := range carryRecordsQueries {
		if err := c.exec(ctx, query, ids, to); err != nil {
			return err
		}
	}
	return nil
}

// supported finds the scratch's versions of what only evidence tells was supported, or
// waits to be judged again.
func (c *carrier) supported(ctx context.Context) error {
	var rows []struct {
		ID        string `db:"memory_id"`
		LineageID string `db:"lineage_id"`
		Kind      string
		Hash      string `db:"content_hash"`
	}
	if err := c.t.Select(ctx, &rows, c.x.fromLive(carryTouchedQuery), c.group, c.to, c.from, c.except); err != nil {
		return err
	}
	for _, r := range rows {
		if _, ok := c.same[r.ID]; ok {
			continue
		}
		if h := c.find(r.LineageID, r.Kind, r.Hash); h != nil && h.Hash == r.Hash {
			c.same[r.ID] = h.ID
		}
	}
	return nil
}
