// Package entity knows who is who in a group: it observes people and things
// in the messages that evolve has consumed, and keeps what is said of them under
// identities that the code gives and no model can choose.
//
// A run is one or more chunks of messages. Each goes through the steps below, a
// file each: batches, observe, aggregate, resolve, build, validate, apply. What
// lies between the model's answers and the database is pure; apply is the only
// step that writes entities.
package entity

import "reverie/internal/reverie"

// participants are who wrote in a chunk. They are made from the messages and the identity
// index alone.
type participants struct {
	accounts map[string]*account // by author id
	// labels says which account a label of the question means, by NameKey. Labels
	// are unique: where two accounts of the chunk, or of the index, share a name,
	// each is shown with a number behind it (Alex#1).
	labels map[string]string
	order  []string // author ids, as they first appear
	known  *index   // by which the labels were given; nil before
}

// account is one author of the chunk.
type account struct {
	id    string             // author id
	kind  reverie.EntityKind // person, or bot where its role is assistant
	names []string           // display names in the chunk, the first one first
	label string             // as the model sees it
}

// batch is one question: some subjects, and the messages that concern them.
type batch struct {
	no       int
	subjects []subject
	messages []reverie.Message // numbered from 1 in the question
}

// subject is somebody or something of a batch.
type subject struct {
	label    string // as the model sees it
	kind     reverie.EntityKind
	account  string // author id, "" for a thing or somebody who does not write here
	entityID string // "" where it is not known yet
}

// rules bounds what counts. All are positive.
type rules struct {
	minConfidence float64
	minEvidence   int // messages that must speak of a name without an account
}

// observation is one as it came: a fresh one, or one that waits.
type observation struct {
	reverie.Observation
	waits string // id of the waiting observation, "" for a fresh one
}

// merged is what all batches, and earlier runs, observed of one subject.
type merged struct {
	reverie.Observation
	observations []observation // what it was put together from
}

// resolved is an observation whose subject is settled: exactly one of entityID,
// create and postponed is set.
type resolved struct {
	merged
	entityID  string
	create    bool
	postponed reverie.PostponementReason
	maybe     []string // accounts without an entity that it may be about (ambiguous)
}

// index is the identity index: names and accounts, and whose they are.
type index struct {
	byKey    map[string][]string // NameKey of subject or alias -> entity ids, sorted
	byID     map[string]string   // account -> entity id
	entities map[string]reverie.EntityKind
}
