package reverie

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// EntitiesReply is a page of a group's entities, by subject.
type EntitiesReply struct {
	Success  bool          `json:"success"`
	GroupID  string        `json:"group_id"`
	Total    int           `json:"total"` // on all pages together
	Entities []EntityReply `json:"entities"`
}

// NewEntitiesReply shapes a page of a group's entities; total counts those of all pages.
func NewEntitiesReply(groupID string, total int, list []Entity) EntitiesReply {
	r := EntitiesReply{Success: true, GroupID: groupID, Total: total, Entities: []EntityReply{}}
	for _, e := range list {
		r.Entities = append(r.Entities, e.Reply())
	}
	return r
}

// OneEntityReply is one entity: the answer to a read or a change.
type OneEntityReply struct {
	Success bool `json:"success"`
	EntityReply
}

// EntityReply is an entity for clients: its names and claims, including those of merged entities.
type EntityReply struct {
	GroupID     string            `json:"group_id"`
	EntityID    string            `json:"entity_id"`
	Kind        EntityKind        `json:"kind"`
	Subject     string            `json:"subject"`
	Status      EntityStatus      `json:"status"`
	MergedInto  *string           `json:"merged_into,omitempty"`
	Accounts    []string          `json:"accounts"` // its author ids on the platform
	Aliases     []string          `json:"aliases"`  // names other than the subject
	Impressions []ImpressionReply `json:"impressions"`
	Features    []FeatureReply    `json:"features"`
	Relations   []RelationReply   `json:"relations"`
	Merged      []string          `json:"merged"` // ids of the entities that a person merged into it
	// The same person in other groups; set if one entity is shown.
	Links     []EntityLink `json:"links,omitempty"`
	Version   int          `json:"version"`
	CreatedAt time.Time    `json:"created_at"`
	UpdatedAt time.Time    `json:"updated_at"`
}

// ImpressionReply is a sentence about an entity.
type ImpressionReply struct {
	Text string `json:"text"`
	ClaimReply
}

// FeatureReply is an attribute of an entity.
type FeatureReply struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	ClaimReply
}

// RelationReply is a relation of an entity to another.
type RelationReply struct {
	Kind     string  `json:"kind"`
	Target   string  `json:"target"` // the target's name as written
	TargetID *string `json:"target_id"`
	ClaimReply
}

// ClaimReply holds the fields that all claims share. ClaimID names the version.
type ClaimReply struct {
	ClaimID         string     `json:"claim_id"`
	Version         int        `json:"version"`
	Confidence      float64    `json:"confidence"`
	Strength        float64    `json:"strength"`
	Self            bool       `json:"self"`    // the entity's own words
	SaidBy          []string   `json:"said_by"` // author ids
	LastSupportedAt time.Time  `json:"last_supported_at"`
	Evidence        []Evidence `json:"evidence"` // oldest first
}

// Reply converts the entity for clients. Claims are sorted strongest first.
func (e Entity) Reply() EntityReply {
	r := EntityReply{GroupID: e.GroupID, EntityID: e.ID, Kind: e.Kind, Subject: e.Subject, Status: e.Status,
		MergedInto: e.MergedInto, Accounts: []string{}, Aliases: []string{}, Impressions: []ImpressionReply{},
		Features: []FeatureReply{}, Relations: []RelationReply{}, Merged: []string{}, Version: e.Version,
		CreatedAt: e.CreatedAt.UTC(), UpdatedAt: e.UpdatedAt.UTC()}
	called := map[string]bool{}
	for _, n := range e.Names {
		if n.Name == e.Subject {
			called[n.Key] = true
		}
	}
	for _, n := range e.Names {
		if n.EntityID != e.ID && n.EntityID != "" && !slices.Contains(r.Merged, n.EntityID) {
			r.Merged = append(r.Merged, n.EntityID)
		}
		if n.Kind == NameID {
			r.Accounts = append(r.Accounts, n.Name)
		} else if !called[n.Key] {
			called[n.Key] = true
			r.Aliases = append(r.Aliases, n.Name)
		}
	}
	slices.Sort(r.Accounts)
	slices.Sort(r.Merged)
	for _, c := range strongestFirst(e.Claims) {
		switch base := c.reply(); c.Aspect {
		case AspectImpression:
			r.Impressions = append(r.Impressions, ImpressionReply{c.Value, base})
		case AspectFeature:
			r.Features = append(r.Features, FeatureReply{c.Name, c.Value, base})
		case AspectRelation:
			r.Relations = append(r.Relations, RelationReply{c.Name, c.Value, c.TargetID, base})
		}
	}
	return r
}

// strongestFirst sorts claims for readers: by name, then the entity's own words first, then by strength.
func strongestFirst(claims []Claim) []Claim {
	return slices.SortedStableFunc(slices.Values(claims), func(a, b Claim) int {
		own := 0
		if a.Self != b.Self {
			own = 1
			if a.Self {
				own = -1
			}
		}
		return cmp.Or(strings.Compare(a.Name, b.Name), own, cmp.Compare(b.Strength, a.Strength), strings.Compare(a.Value, b.Value))
	})
}

func (c Claim) reply() ClaimReply {
	r := ClaimReply{ClaimID: c.ID, Version: c.Version, Confidence: c.Confidence, Strength: c.Strength, Self: c.Self,
		SaidBy: append([]string{}, c.SaidBy...), LastSupportedAt: c.LastSupportedAt.UTC(), Evidence: []Evidence{}}
	for _, e := range c.Evidence {
		e.SentAt = e.SentAt.UTC()
		r.Evidence = append(r.Evidence, e)
	}
	slices.SortStableFunc(r.Evidence, func(a, b Evidence) int { return a.SentAt.Compare(b.SentAt) })
	return r
}

// EntityHistoryReply is the history of an entity, oldest first: its changes and all versions of its claims.
type EntityHistoryReply struct {
	Success  bool           `json:"success"`
	GroupID  string         `json:"group_id"`
	EntityID string         `json:"entity_id"`
	Subject  string         `json:"subject"`
	Version  int            `json:"version"`
	Changes  []EntityChange `json:"changes"`
	Claims   []Claim        `json:"claims"`
}

// NewEntityHistoryReply shapes the changes and claim versions of an entity.
func NewEntityHistoryReply(e Entity, changes []EntityChange, claims []Claim) EntityHistoryReply {
	r := EntityHistoryReply{Success: true, GroupID: e.GroupID, EntityID: e.ID, Subject: e.Subject, Version: e.Version,
		Changes: []EntityChange{}, Claims: []Claim{}}
	for _, c := range changes {
		if c.Evidence == nil {
			c.Evidence = []Evidence{}
		}
		c.CreatedAt = c.CreatedAt.UTC()
		r.Changes = append(r.Changes, c)
	}
	for _, c := range claims {
		if c.SaidBy == nil {
			c.SaidBy = []string{}
		}
		c.CreatedAt, c.UpdatedAt, c.LastSupportedAt = c.CreatedAt.UTC(), c.UpdatedAt.UTC(), c.LastSupportedAt.UTC()
		if c.EndedAt != nil {
			ended := c.EndedAt.UTC()
			c.EndedAt = &ended
		}
		r.Claims = append(r.Claims, c)
	}
	return r
}

// MergeReply is the answer to a merge or unmerge: the merged entity and its target.
type MergeReply struct {
	Success bool        `json:"success"`
	Merged  EntityReply `json:"merged"`
	Into    EntityReply `json:"into"`
}

// WaitingReply lists the postponed observations of a group, oldest first.
type WaitingReply struct {
	Success      bool          `json:"success"`
	GroupID      string        `json:"group_id"`
	Observations []Observation `json:"observations"`
}

// NewWaitingReply shapes a group's postponed observations.
func NewWaitingReply(groupID string, waiting []Observation) WaitingReply {
	r := WaitingReply{Success: true, GroupID: groupID, Observations: []Observation{}}
	for _, o := range waiting {
		if o.Claims == nil {
			o.Claims = []ObservedClaim{}
		}
		o.LastAt, o.ExpiresAt, o.CreatedAt = o.LastAt.UTC(), o.ExpiresAt.UTC(), o.CreatedAt.UTC()
		r.Observations = append(r.Observations, o)
	}
	return r
}
