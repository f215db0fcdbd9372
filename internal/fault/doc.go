// Package fault lets a process break at a moment that a test names. It does so only
// in a binary built with the tag "torture"; in every other build its functions are
// empty, and nothing in the environment can wake them.
//
// What works on a group says by [Reach] which steps it has reached: each transaction
// as it begins, before its commit is sent and once it is committed, and each call of a
// model before it is sent and when its answer has come. [Off] tells whether a guard was
// taken away, for the control of a test: without the guard the test must fail.
//
// In a torture build the environment decides:
//
//	REVERIE_FAULT_TRACE=FILE    append the name of each step that is reached, a line each
//	REVERIE_FAULT=kill:STEP#2   SIGKILL this process when it reaches STEP for the 2nd time
//	REVERIE_FAULT=stop:STEP     SIGSTOP it when it does so for the first time
//	REVERIE_FAULT_OFF=A,B       take away the guards A and B
//	REVERIE_FAULT_CLOCK=FILE    have this process's clock go as far ahead as the file says, as in -8760h
//
// A step is named by what is done, without the ids, and the moment, as in
// "save chunk of run: committed".
package fault

// Moments of a step.
const (
	Begun     = "begun"     // nothing is done yet
	Done      = "done"      // all is done but the commit
	Committed = "committed" // the commit was answered
	Asked     = "asked"     // a model is about to be asked
	Answered  = "answered"  // its answer has come, and nothing is kept of it yet
)

// Guards that can be taken away.
const (
	// Fence: a write is refused to a holder whose lease another has taken.
	Fence = "fence"
	// Lease: only one holder at a time works on a group.
	Lease = "lease"
	// Moment: what is written to a group's memories is later than what was written before.
	Moment = "moment"
	// Outcome: where the reply to a commit is lost, what became of it is looked up.
	Outcome = "outcome"
	// Answer: what a model has said in a run is kept before it is used.
	Answer = "answer"
	// Whole: what a transaction does is done whole or not at all.
	Whole = "whole"
	// Finish: an answer that a model did not end by itself is not taken for one.
	Finish = "finish"
	// Batch: before a batch is handed in again, its provider is asked whether it has it.
	Batch = "batch"
	// Sent: an event is noted as sent when its webhook has taken it, and not before.
	Sent = "sent"
	// Newer: an older text of a message does not replace a newer one.
	Newer = "newer"
	// Scope: a fact of which nobody has said how far it reaches is its group's.
	Scope = "scope"
	// Notice: a group's notices of one type are some time apart.
	Notice = "notice"
	// Ended: a page whose stream was away is told that a run has ended.
	Ended = "ended"
)
