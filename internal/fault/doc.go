// Package fault stops a process at a step that a test names. It does so only in a binary built with the tag
// "torture"; in other builds its functions do nothing, whatever the environment says.
//
// Code that works on a group calls [Reach] for each step: when a transaction begins, before its commit is sent, and
// after the commit; before a model is called, and when its answer has arrived. [Off] reports whether a guard is
// disabled. A test disables a guard as a control: without the guard, the test must fail.
//
// In a torture build the environment decides:
//
//	REVERIE_FAULT_TRACE=FILE    append the name of each step that is reached, a line each
//	REVERIE_FAULT=kill:STEP#2   SIGKILL this process when it reaches STEP for the 2nd time
//	REVERIE_FAULT=stop:STEP     SIGSTOP it when it does so for the first time
//	REVERIE_FAULT_OFF=A,B       disable the guards A and B
//	REVERIE_FAULT_CLOCK=FILE    move this process's clock by the duration in the file, such as -8760h
//
// The name of a step is what is done, without ids, and the moment, as in "save chunk of run: committed".
package fault

// Moments of a step.
const (
	Begun     = "begun"     // nothing is done yet
	Done      = "done"      // everything is done except the commit
	Committed = "committed" // the server confirmed the commit
	Asked     = "asked"     // a model is about to be asked
	Answered  = "answered"  // the answer has arrived and is not stored yet
	Between   = "between"   // the next statement of a transaction that is not atomic is about to be sent
)

// Guards that can be disabled.
const (
	// Fence: a write is refused if another holder has acquired the lease since.
	Fence = "fence"
	// Lease: only one holder at a time works on a group.
	Lease = "lease"
	// Moment: a write to a group's memories has a later timestamp than earlier writes.
	Moment = "moment"
	// Outcome: if the reply to a commit is lost, the database is asked whether it committed.
	Outcome = "outcome"
	// Answer: a model's answer is stored before it is used.
	Answer = "answer"
	// Whole: a transaction is atomic.
	Whole = "whole"
	// Finish: an answer that the model did not finish is not used.
	Finish = "finish"
	// Batch: before a batch is sent again, the provider is asked whether it already has it.
	Batch = "batch"
	// Sent: an event is recorded as sent only after its webhook has accepted it.
	Sent = "sent"
	// Newer: an older text of a message does not replace a newer one.
	Newer = "newer"
	// Scope: a fact without a reach stays in its group.
	Scope = "scope"
	// Notice: notices of one type in a group have a minimum distance in time.
	Notice = "notice"
	// Ended: a page whose stream was away is told that a run has ended.
	Ended = "ended"
)
