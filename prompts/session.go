package prompts

// ExtractSystem is what the session_extract text is filled with.
type ExtractSystem struct {
	StatementLanguage string // as the prompt's language names it
	MaxStatement      int    // characters of a fact and of the summary
	MaxFacts          int
}

// ExtractUser is the user part of session_extract: new turns of one session, what
// its summary says so far, and facts of earlier that they may bear on.
type ExtractUser struct {
	Notice     string        `json:"notice"`
	Summary    string        `json:"session_summary"` // so far; "" at first
	KnownFacts []KnownFact   `json:"known_facts"`
	Turns      []MessageView `json:"session_turns"`
	// Again says, where the question is asked a second time, what was wrong with
	// the first answer.
	Again []string `json:"again,omitempty"`
}

// KnownFact is a remembered fact as a model sees it: a handle, never a UUID.
type KnownFact struct {
	ID              string `json:"id"` // m1..mN
	Statement       string `json:"statement"`
	LastSupportedAt string `json:"last_supported_at"` // local date
}

// SessionExtract is the name of the prompt that extracts a session's facts and
// summary.
const SessionExtract = "session_extract"

// Extract renders session_extract in a language, [English] or [Chinese].
func (s *Set) Extract(language string, system ExtractSystem, user ExtractUser) (Rendered, error) {
	system.StatementLanguage = statementLanguage(language)
	user.Notice = Notice
	return s.render(SessionExtract, language, system, user)
}

// SummarizeSystem is what the session_summarize text is filled with.
type SummarizeSystem struct {
	StatementLanguage string // as the prompt's language names it
	MaxSummary        int    // characters
}

// SummarizeUser is the user part of session_summarize: the rolling summary so far,
// and the turns that it is to cover, too.
type SummarizeUser struct {
	Notice  string        `json:"notice"`
	Rolling string        `json:"rolling_summary"` // so far; "" at first
	Turns   []MessageView `json:"older_turns"`
	Again   []string      `json:"again,omitempty"`
}

// SessionSummarize is the name of the prompt that folds older turns into a
// summary.
const SessionSummarize = "session_summarize"

// Summarize renders session_summarize in a language, [English] or [Chinese].
func (s *Set) Summarize(language string, system SummarizeSystem, user SummarizeUser) (Rendered, error) {
	system.StatementLanguage = statementLanguage(language)
	user.Notice = Notice
	return s.render(SessionSummarize, language, system, user)
}
