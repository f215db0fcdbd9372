package prompts

// CompareSystem is what the memory_compare text is filled with.
type CompareSystem struct {
	StatementLanguage string // as the prompt's language names it
	MaxStatement      int    // characters of a merged statement
}

// CompareUser is the user part of memory_compare: one new fact and the memories
// that come near it.
type CompareUser struct {
	Notice     string          `json:"notice"`
	Fact       FactView        `json:"fact"`
	Candidates []CandidateView `json:"candidates"`
	// Again says, where the question is asked a second time, what was wrong with
	// the first answer.
	Again []string `json:"again,omitempty"`
}

// FactView is a new fact as a model sees it.
type FactView struct {
	Statement string   `json:"statement"`
	Date      string   `json:"date,omitempty"`   // local, of its newest evidence
	Quotes    []string `json:"quotes,omitempty"` // what it rests on
}

// CandidateView is a remembered statement as a model sees it: a handle, never a
// UUID.
type CandidateView struct {
	ID              string `json:"id"` // c1..cK
	Statement       string `json:"statement"`
	LastSupportedAt string `json:"last_supported_at,omitempty"` // local date
}

// MemoryCompare is the name of the prompt that compares a fact with memories.
const MemoryCompare = "memory_compare"

// Compare renders memory_compare in a language, [English] or [Chinese].
func (s *Set) Compare(language string, system CompareSystem, user CompareUser) (Rendered, error) {
	system.StatementLanguage = statementLanguage(language)
	user.Notice = Notice
	return s.render(MemoryCompare, language, system, user)
}
