// Package reverie is the domain of Reverie, the nightly memory of chat groups.
//
// One sentence holds it together: old memories + new messages -> an LLM's JSON
// Lines -> a checked plan -> new versions, like commits in git. Nothing is
// overwritten, and every version says why it exists, by which run, and from
// which messages.
//
// This package is a leaf: it knows no SQL, no HTTP and no model. It holds one
// file per noun (Group, Message, Memory, Evidence, Change, Plan, Run, Lease,
// Call) and the rules that every writer shares: what a statement may be, how
// evidence is verified, which texts are secrets or instructions, and how two
// statements are recognised as the same one.
package reverie
