package reverie

import "time"

// EntityKind is the sort of an entity.
type EntityKind string

// The kinds of entity.
const (
	EntityPerson EntityKind = "person"
	EntityBot    EntityKind = "bot" // an author whose role is assistant
	EntityThing  EntityKind = "thing"
)

// EntityKinds are all kinds.
var EntityKinds = []EntityKind{EntityPerson, EntityBot, EntityThing}

// EntityStatus says whether an entity is in use.
type EntityStatus string

// The statuses of an entity.
const (
	EntityActive EntityStatus = "active"
	EntityMerged EntityStatus = "merged"    // a person merged it into another entity
	EntityGone   EntityStatus = "withdrawn" // the run that created it was undone: nobody finds it
)

// Limits of the texts of entities.
const (
	MaxNameLength  = 80  // characters of a subject, alias, feature key or relation kind
	MaxValueLength = 200 // characters of an impression, or of a feature's value
)

// Entity is a person or thing that a group talks about. The code assigns its id, which never changes; models
// neither see nor name it.
type Entity struct {
	GroupID    string       `db:"group_id" json:"group_id"`
	ID         string       `db:"entity_id" json:"entity_id"`
	Kind       EntityKind   `db:"kind" json:"kind"`
	Subject    string       `db:"subject" json:"subject"` // its main name
	Status     EntityStatus `db:"status" json:"status"`
	MergedInto *string      `db:"merged_into" json:"merged_into,omitempty"`
	// Increases with each change of the entity, its names or its claims.
	Version   int       `db:"version" json:"version"`
	CreatedAt time.Time `db:"created_at" json:"created_at"`
	UpdatedAt time.Time `db:"updated_at" json:"updated_at"`
	RunID     *string   `db:"run_id" json:"run_id,omitempty"` // the run that created it
	// Names and Claims are those in force. They include those of merged entities, which keep their own EntityID.
	Names  []EntityName `db:"-" json:"-"`
	Claims []Claim      `db:"-" json:"-"`
}

// NameKind is the role of a name.
type NameKind string

// The kinds of name.
const (
	NameID      NameKind = "id"      // the platform's account: only one entity has it
	NameSubject NameKind = "subject" // the main name
	NameAlias   NameKind = "alias"   // another name; several entities may share it
)

// EntityName is one entry of the identity index, by which entities are looked up.
type EntityName struct {
	ID        string     `db:"name_id" json:"name_id"`
	EntityID  string     `db:"entity_id" json:"entity_id"`
	Kind      NameKind   `db:"kind" json:"kind"`
	Name      string     `db:"name" json:"name"`  // as written
	Key       string     `db:"name_key" json:"-"` // NameKey of Name; an id is used unchanged
	CreatedAt time.Time  `db:"created_at" json:"created_at"`
	RunID     *string    `db:"run_id" json:"run_id,omitempty"`
	Entity    EntityKind `db:"entity_kind" json:"-"` // of the entity; set when the index is read
}

// Aspect is the sort of a claim about an entity.
type Aspect string

// The aspects.
const (
	AspectImpression Aspect = "impression" // a sentence about it: Value
	AspectFeature    Aspect = "feature"    // a key (Name) with one value (Value)
	AspectRelation   Aspect = "relation"   // a kind (Name) and a target (Value, TargetID)
)

// Claim is one version of one statement about an entity. What the entity says of itself and what others say of it
// are separate claims.
type Claim struct {
	GroupID         string     `db:"group_id" json:"-"`
	ID              string     `db:"claim_id" json:"claim_id"` // id of this version
	LineageID       string     `db:"lineage_id" json:"lineage_id"`
	ParentID        *string    `db:"parent_id" json:"parent_id,omitempty"`
	Version         int        `db:"version" json:"version"`
	EntityID        string     `db:"entity_id" json:"entity_id"`
	Aspect          Aspect     `db:"aspect" json:"aspect"`
	Name            string     `db:"name" json:"name,omitempty"`
	Value           string     `db:"value" json:"value"`
	TargetID        *string    `db:"target_id" json:"target_id,omitempty"` // the target entity of a relation
	Self            bool       `db:"self" json:"self"`                     // in the person's own words
	SaidBy          []string   `db:"said_by" json:"said_by"`               // author ids of the evidence, sorted
	ContentHash     string     `db:"content_hash" json:"-"`                // of Value, or of a relation's target
	Confidence      float64    `db:"confidence" json:"confidence"`         // 0..1, the highest of its observations
	Strength        float64    `db:"strength" json:"strength"`             // 0..1, see Reinforce
	Status          Status     `db:"status" json:"status"`                 // active or deprecated
	RunID           *string    `db:"run_id" json:"run_id,omitempty"`
	CreatedAt       time.Time  `db:"created_at" json:"created_at"` // when the lineage was created
	UpdatedAt       time.Time  `db:"updated_at" json:"updated_at"` // when this version was created
	EndedAt         *time.Time `db:"ended_at" json:"ended_at,omitempty"`
	LastSupportedAt time.Time  `db:"last_supported_at" json:"last_supported_at"`
	SupportDates    []string   `db:"support_dates" json:"-"`      // local dates with evidence, sorted
	Evidence        []Evidence `db:"-" json:"evidence,omitempty"` // set if asked for
}

// Text returns a claim as one line.
func (c Claim) Text() string {
	if c.Name == "" {
		return c.Value
	}
	return c.Name + ": " + c.Value
}

// Observation is what a model said about one subject. It is verified, and waits to be added to an entity.
type Observation struct {
	GroupID     string             `db:"group_id" json:"-"`
	ID          string             `db:"observation_id" json:"observation_id"`
	Subject     string             `json:"subject"`
	Account     string             `json:"account,omitempty"` // author id, if the code knows it
	Kind        EntityKind         `json:"kind"`
	Aliases     []string           `json:"aliases,omitempty"`
	Claims      []ObservedClaim    `json:"claims"`
	Status      ObservationStatus  `db:"status" json:"status"`
	Postponed   PostponementReason `db:"reason" json:"postponed,omitempty"` // why it waits
	LastAt      time.Time          `db:"last_at" json:"last_at"`            // sent_at of its newest evidence
	ExpiresAt   time.Time          `db:"expires_at" json:"expires_at"`
	RunID       string             `db:"run_id" json:"run_id"` // the run that observed it
	CreatedAt   time.Time          `db:"created_at" json:"created_at"`
	MatchingIDs []string           `json:"matching_ids,omitempty"` // entities that it may be about (ambiguous)
	Continues   []string           `json:"continues,omitempty"`    // earlier observations that this one continues
}

// ObservationStatus is the state of a postponed observation.
type ObservationStatus string

// The statuses of an observation.
const (
	ObservationWaiting   ObservationStatus = "waiting"
	ObservationJoined    ObservationStatus = "joined"    // added to an entity, alone or with later ones
	ObservationContinued ObservationStatus = "continued" // continued by a later one
	ObservationExpired   ObservationStatus = "expired"   // waited too long
)

// PostponementReason is why an observation waits.
type PostponementReason string

// The reasons.
const (
	PostponedAmbiguous PostponementReason = "ambiguous" // its name fits several entities
	// No entity has that name, and there is too little evidence for a new one.
	PostponedInsufficient PostponementReason = "insufficient"
)

// ObservedClaim is a claim that no entity has yet.
type ObservedClaim struct {
	Aspect     Aspect     `json:"aspect"`
	Name       string     `json:"name,omitempty"`
	Value      string     `json:"value"`
	Account    string     `json:"account,omitempty"`  // author id of a relation's target, if the code knows it
	Replaces   string     `json:"replaces,omitempty"` // the text of a known claim that it corrects
	Confidence float64    `json:"confidence"`
	Evidence   []Evidence `json:"evidence"`
	Reason     string     `json:"reason,omitempty"`
}

// EntityFilter selects entities for listing.
type EntityFilter struct {
	Kind EntityKind // "" = all
	Name string     // part of a name, compared by NameKey; "" = all
	All  bool       // include merged entities, each as its own entry
}

// EntityQuery asks for the state that one chunk of the impression job needs.
type EntityQuery struct {
	GroupID      string
	Since, Until time.Time // half-open over sent_at; zero values are no bound
	Limit        int       // maximum number of messages
	MessageIDs   []string  // exactly these, if they are still pending for the job
}

// EntityState is the input of one chunk of the impression job.
type EntityState struct {
	Group    Group
	Messages []Message // pending for the job, by sent_at, then by order of arrival
	More     bool      // the window has more of them
	Replied  []Message // messages that those reply to, without those themselves
	// Messages by accounts that share a name with an author, or with the subject of a pending observation: one of each
	// account, a few of each name.
	Namesakes []Message
	Index     []EntityName  // names in force; names of a merged entity carry its target's id
	Waiting   []Observation // postponed observations, oldest first
}

// EntityPlan is everything that one chunk of the impression job writes, in one transaction.
type EntityPlan struct {
	GroupID   string
	RunID     string
	ChunkNo   int
	Heads     map[string]int // entity id -> expected version, for each known entity that the plan reads or writes
	Creates   []Entity       // new entities, with their names in Names
	Names     []EntityName   // further names of known entities
	Claims    []ClaimStep
	Joined    []string      // observations that were added to an entity
	Postponed []Observation // newly postponed observations, with their own ids
	Expired   []string      // observations that waited too long
	Outcomes  map[string]Outcome
	Refusals  []Refusal
	Stats     Stats
}

// ClaimStep is one write of an EntityPlan. It creates a claim, updates one (a new version replaces it), or keeps
// one (support, and the higher confidence).
type ClaimStep struct {
	Action   Action     `json:"action"`             // create, update, keep
	Claim    Claim      `json:"claim"`              // the claim after the step; for a keep, ID is the head's
	HeadID   string     `json:"head_id,omitempty"`  // the expected head version (update, keep)
	OldText  string     `json:"old_text,omitempty"` // the text of the replaced claim
	Evidence []Evidence `json:"evidence"`
	Reason   string     `json:"reason,omitempty"`
}

// Changes returns the change log rows of a plan. Support is only counted and has no row.
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
	EntityNamed     EntityAction = "name"    // another name was added
	EntityClaimed   EntityAction = "claim"   // a new claim was added
	EntityReplaced  EntityAction = "replace" // a claim replaced another
	EntityMerge     EntityAction = "merge"   // a person merged it into another entity
	EntityUnmerge   EntityAction = "unmerge" // a person reverted the merge
	EntityWithdrawn EntityAction = "withdraw"
	EntityUndo      EntityAction = "undo" // a run that created it, named it or added claims was undone
)

// EntityChange is one row of the entities' change log.
type EntityChange struct {
	GroupID   string       `db:"group_id" json:"-"`
	ID        string       `db:"change_id" json:"change_id"`
	RunID     *string      `db:"run_id" json:"run_id"`                         // nil: a person's change
	UndoneRun *string      `db:"undone_run_id" json:"undone_run_id,omitempty"` // the run that was undone
	EntityID  string       `db:"entity_id" json:"entity_id"`
	Action    EntityAction `db:"action" json:"action"`
	OtherID   *string      `db:"other_id" json:"other_id,omitempty"` // the other entity of a merge or unmerge
	ClaimID   *string      `db:"claim_id" json:"claim_id,omitempty"`
	OldText   string       `db:"old_text" json:"old_text,omitempty"`
	NewText   string       `db:"new_text" json:"new_text,omitempty"`
	Reason    string       `db:"change_reason" json:"change_reason"`
	Evidence  []Evidence   `db:"evidence" json:"evidence"`
	CreatedAt time.Time    `db:"created_at" json:"timestamp"`
}
