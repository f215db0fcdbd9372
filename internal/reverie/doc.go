// Package reverie is the domain of Reverie, the nightly memory of chat groups.
//
// One sentence sums it up: old memories + new messages -> an LLM's JSON Lines -> a checked plan -> new versions,
// like commits in git. Nothing is overwritten, and every version records its reason, its run and its messages.
//
// This package is a leaf: it knows no SQL, no HTTP and no model. It holds one file per noun (Group, Message,
// Memory, Evidence, Change, Plan, Run, Lease, Call) and the rules that every writer shares. They define valid
// statements, verified evidence, refused texts (secrets, instructions), and when two statements are the same.
package reverie
