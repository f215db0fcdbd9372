package reverie

import "time"

// EntityKind says what sort of thing an entity is.
type EntityKind string

// The kinds of entity.
const (
	EntityPerson EntityKind = "person"
	EntityBot    EntityKind = "bot" // an author whose role is assistant
	EntityThing  EntityKind = "thing"
)

// EntityKinds are all kinds.
var EntityKinds = []EntityKind{EntityPerson, EntityBot, EntityThing}

// EntityStatus says whether an entity stands for itself.
type EntityStatus string

// The statuses of an entity.
const (
	EntityActive EntityStatus = "active"
	EntityMerged EntityStatus = "merged"    // a person said that it is the same as another
	EntityGone   EntityStatus = "withdrawn" // the run that made it was taken back: nobody finds it
)

// Limits of what is said of entities.
const (
	MaxNameLength  = 80  // characters of a subject, alias, feature key or relation kind
	MaxValueLength = 200 // characters of an impression, or of a feature's value
)

// Entity is somebody or something that a group talks about. Its id is given by
// the code and never changes; a model neither sees nor names it.
type Entity struct {
	GroupID    string       `db:"group_id" json:"group_id"`
	ID         string       `db:"entity_id" json:"entity_id"`
	Kind       EntityKind   `db:"kind" json:"kind"`
	Subject    string       `db:"subject" json:"subject"` // the name it goes by
	Status     EntityStatus `db:"status" json:"status"`
	MergedInto *string      `db:"merged_into" json:"merged_into,omitempty"`
	Version    int          `db:"version" json:"version"` // rises with each change of it, its names or its claims
	CreatedAt  time.Time    `db:"created_at" json:"created_at"`
	UpdatedAt  time.Time    `db:"updated_at" json:"updated_at"`
	RunID      *string      `db:"run_id" json:"run_id,omitempty"` // that created it
	// Names and Claims are those in force, of the entities merged into it too, under
	// their own EntityID.
	Names  []EntityName `db:"-" json:"-"`
	Claims []Claim      `db:"-" json:"-"`
}

// NameKind says how a name stands to its entity.
type NameKind string

// The kinds of name.
const (
	NameID      NameKind = "id"      // the platform's account: belongs to one entity only
	NameSubject NameKind = "subject" // what it goes by
	NameAlias   NameKind = "alias"   // also known as; several entities may share one
)

// EntityName is one entry of the identity index: what may be looked up to find
// an entity, and nothing else.
type EntityName struct {
	ID        string     `db:"name_id" json:"name_id"`
	EntityID  string     `db:"entity_id" json:"entity_id"`
	Kind      NameKind   `db:"kind" json:"kind"`
	Name      string     `db:"name" json:"name"`  // as it was written
	Key       string     `db:"name_key" json:"-"` // NameKey of it; an id as it is
	CreatedAt time.Time  `db:"created_at" json:"created_at"`
	RunID     *string    `db:"run_id" json:"run_id,omitempty"`
	Entity    EntityKind `db:"entity_kind" json:"-"` // of the entity, where the index is read
}

// Aspect says what sort of claim is made about an entity.
type Aspect string

// The aspects.
const (
	AspectImpression Aspect = "impression" // a sentence about it: Value
	AspectFeature    Aspect = "feature"    // a key (Name) with one value (Value)
	AspectRelation   Aspect = "relation"   // a kind (Name) and a target (Value, TargetID)
)

// Claim is one version of one thing that is said of an entity. What the entity
// says of itself and what others say of it are claims apart.
type Claim struct {
	GroupID         string     `db:"group_id" json:"-"`
	ID              string     `db:"claim_id" json:"claim_id"` // names the version
	LineageID       string     `db:"lineage_id" json:"lineage_id"`
	ParentID        *string    `db:"parent_id" json:"parent_id,omitempty"`
	Version         int        `db:"version" json:"version"`
	EntityID        string     `db:"entity_id" json:"entity_id"`
	Aspect          Aspect     `db:"aspect" json:"aspect"`
	Name            string     `db:"name" json:"name,omitempty"`
	Value           string     `db:"value" json:"value"`
	TargetID        *string    `db:"target_id" json:"target_id,omitempty"` // entity of a relation
	Self            bool       `db:"self" json:"self"`                     // the person's own words
	SaidBy          []string   `db:"said_by" json:"said_by"`               // author ids of the evidence, sorted
	ContentHash     string     `db:"content_hash" json:"-"`                // of Value; of a relation's target
	Confidence      float64    `db:"confidence" json:"confidence"`         // 0..1, as it was observed; the highest counts
	Strength        float64    `db:"strength" json:"strength"`             // 0..1, see Reinforce
	Status          Status     `db:"status" json:"status"`                 // active or deprecated
	RunID           *string    `db:"run_id" json:"run_id,omitempty"`
	CreatedAt       time.Time  `db:"created_at" json:"created_at"` // the lineage's birth
	UpdatedAt       time.Time  `db:"updated_at" json:"updated_at"` // this version's birth
	EndedAt         *time.Time `db:"ended_at" json:"ended_at,omitempty"`
	LastSupportedAt time.Time  `db:"last_supported_at" json:"last_supported_at"`
	SupportDates    []string   `db:"support_dates" json:"-"`      // local dates with evidence, sorted
	Evidence        []Evidence `db:"-" json:"evidence,omitempty"` // where it is asked for
}

// Text is a claim in a line.
func (c Claim) Text() string {
	if c.Name == "" {
		return c.Value
	}
	return c.Name + ": " + c.Value
}

// Observation is what a model said of one subject, verified, on its way to an
// entity, or waiting to be sure of one.
type Observation struct {
	GroupID     string             `db:"group_id" json:"-"`
	ID          string             `db:"observation_id" json:"observation_id"`
	Subject     string             `json:"subject"`
	Account     string             `json:"account,omitempty"` // author id, where the code knows it
	Kind        EntityKind         `json:"kind"`
	Aliases     []string           `json:"aliases,omitempty"`
	Claims      []ObservedClaim    `json:"claims"`
	Status      ObservationStatus  `db:"status" json:"status"`
	Postponed   PostponementReason `db:"reason" json:"postponed,omitempty"` // why it waits
	LastAt      time.Time          `db:"last_at" json:"last_at"`            // sent_at of its newest evidence
	ExpiresAt   time.Time          `db:"expires_at" json:"expires_at"`
	RunID       string             `db:"run_id" json:"run_id"` // that observed it
	CreatedAt   time.Time          `db:"created_at" json:"created_at"`
	MatchingIDs []string           `json:"matching_ids,omitempty"` // entities that it may be about (ambiguous)
	Ambiguous   string             `json:"ambiguous,omitempty"`    // the name that several have; as read
	Matching    []NamedEntity      `json:"matching,omitempty"`     // those of matching_ids that are known; as read
	Continues   []string           `json:"continues,omitempty"`    // observations that waited before and go on in it
}

// NamedEntity is an entity by its id and its name.
type NamedEntity struct {
	EntityID string `json:"entity_id"`
	Subject  string `json:"subject"`
}

// ObservationStatus says what became of an observation that was postponed.
type ObservationStatus string

// The statuses of an observation.
const (
	ObservationWaiting   ObservationStatus = "waiting"
	ObservationJoined    ObservationStatus = "joined"    // became part of an entity, alone or with later ones
	ObservationContinued ObservationStatus = "continued" // goes on in a later one
	ObservationExpired   ObservationStatus = "expired"   // waited too long
)

// PostponementReason says why an observation waits.
type PostponementReason string

// The reasons.
const (
	PostponedAmbiguous    PostponementReason = "ambiguous"    // its name fits several entities
	PostponedInsufficient PostponementReason = "insufficient" // nobody of that name is known, and too little says there is
)

// ObservedClaim is a claim before it belongs to an entity.
type ObservedClaim struct {
	Aspect     Aspect     `json:"aspect"`
	Name       string     `json:"name,omitempty"`
	Value      string     `json:"value"`
	Account    string     `json:"account,omitempty"`  // author id of a relation's target, where the code knows it
	Replaces   string     `json:"replaces,omitempty"` // the text of a known claim that it corrects
	Confidence float64    `json:"confidence"`
	Evidence   []Evidence `json:"evidence"`
	Reason     string     `json:"reason,omitempty"`
}

// EntityFilter selects entities for listing.
type EntityFilter struct {
	Kind EntityKind // "" = all
	Name string     // part of a name, compared by NameKey; "" = all
	All  bool       // those that are merged into others too, by themselves
}

// EntityQuery asks for what one chunk of impressions needs.
type EntityQuery struct {
	GroupID      string
	Since, Until time.Time // half-open over sent_at; zero values are no bound
	Limit        int       // messages at most
	MessageIDs   []string  // exactly these, as far as they still wait
}

// EntityState is what one chunk of impressions is made from.
type EntityState struct {
	Group     Group
	Messages  []Message     // that wait for the job, by sent_at, then by order of arrival
	More      bool          // there are further ones in the window
	Replied   []Message     // what those reply to and is not among them
	Namesakes []Message     // one of each account that has gone by a name of their authors, or of what waits: a few of each name
	Index     []EntityName  // names in force; those of a merged entity are its target's
	Waiting   []Observation // postponed before, oldest first
}

// EntityPlan is everything that one chunk of impressions writes, in one
// transaction.
type EntityPlan struct {
	GroupID   string
	RunID     string
	ChunkNo   int
	Heads     map[string]int // entity id -> version that the plan rests on, for each known entity it writes, or that is read with it
	Creates   []Entity       // with their names in Names
	Names     []EntityName   // further ones, of known entities
	Claims    []ClaimStep
	Joined    []string      // observations that became part of an entity
	Postponed []Observation // those that wait anew, with ids of their own
	Expired   []string      // observations that waited too long
	Outcomes  map[string]Outcome
	Refusals  []Refusal
	Stats     Stats
}

// ClaimStep is one write of an EntityPlan: create a claim, update (a new version
// that takes another's place), or keep (support, and the higher confidence).
type ClaimStep struct {
	Action   Action     `json:"action"`             // create, update, keep
	Claim    Claim      `json:"claim"`              // as it is after the step; of a keep, ID is the head's
	HeadID   string     `json:"head_id,omitempty"`  // the claim_id it rests on (update, keep)
	OldText  string     `json:"old_text,omitempty"` // of the claim that it replaces
	Evidence []Evidence `json:"evidence"`
	Reason   string     `json:"reason,omitempty"`
}

// Changes are the rows of the change log that a plan comes to: support is counted, not
// logged.
func (p EntityPlan) Changes() []EntityChange {
	var list []EntityChange
	for _, e := range p.Creates {
		list = append(list, EntityChange{GroupID: p.GroupID, EntityID: e.ID, Action: EntityCreated, NewText: e.Subject})
	}
	for _, n := range p.Names {
		list = append(list, EntityChange{GroupID: p.GroupID, EntityID: n.EntityID, Action: EntityNamed, NewText: n.Name})
	}
	for _, s := range p.Claims {
		action := EntityClaimed
		switch s.Action {
		case ActionKeep:
			continue
		case ActionUpdate:
			action = EntityReplaced
		}
		list = append(list, EntityChange{GroupID: p.GroupID, EntityID: s.Claim.EntityID, Action: action,
			ClaimID: &s.Claim.ID, OldText: s.OldText, NewText: s.Claim.Text(), Reason: s.Reason, Evidence: s.Evidence})
	}
	return list
}

// EntityAction is what a change did to an entity.
type EntityAction string

// The actions of the entities' change log.
const (
	EntityCreated   EntityAction = "create"
	EntityNamed     EntityAction = "name"    // got a further name
	EntityClaimed   EntityAction = "claim"   // a new claim
	EntityReplaced  EntityAction = "replace" // a claim took another's place
	EntityMerge     EntityAction = "merge"   // a person: it is the same as another
	EntityUnmerge   EntityAction = "unmerge" // and it is not
	EntityWithdrawn EntityAction = "withdraw"
	EntityUndo      EntityAction = "undo" // a run was taken back that had made it, named it or learnt it
)

// EntityChange is one row of the entities' change log.
type EntityChange struct {
	GroupID   string       `db:"group_id" json:"-"`
	ID        string       `db:"change_id" json:"change_id"`
	RunID     *string      `db:"run_id" json:"run_id"`                         // nil for a person's
	UndoneRun *string      `db:"undone_run_id" json:"undone_run_id,omitempty"` // the run that it takes back
	EntityID  string       `db:"entity_id" json:"entity_id"`
	Action    EntityAction `db:"action" json:"action"`
	OtherID   *string      `db:"other_id" json:"other_id,omitempty"` // the entity merged into, or out of
	ClaimID   *string      `db:"claim_id" json:"claim_id,omitempty"`
	OldText   string       `db:"old_text" json:"old_text,omitempty"`
	NewText   string       `db:"new_text" json:"new_text,omitempty"`
	Reason    string       `db:"change_reason" json:"change_reason"`
	Evidence  []Evidence   `db:"evidence" json:"evidence"`
	CreatedAt time.Time    `db:"created_at" json:"timestamp"`
}
