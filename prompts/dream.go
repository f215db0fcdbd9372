package prompts

// DreamSystem is what the dream text is filled with.
type DreamSystem struct {
	StatementLanguage string // as the prompt's language names it
	MaxStatement      int    // characters of an item and of the narrative
	MaxItems          int
	MinConfidence     float64 // below it an item is not said
	// Combine says that the user part holds what several questions about parts of the
	// material came to, to be made one dream of.
	Combine bool
}

// DreamUser is the user part of dream: what sessions and nights have left since the
// last dream, or some of it; or, to be combined, what became of such parts.
type DreamUser struct {
	Notice string `json:"notice"`
	AsOf   string `json:"as_of"` // local date of the newest material
	// LastDream is the narrative of the last dream; "" where there was none.
	LastDream string             `json:"last_dream"`
	Items     []DreamItemView    `json:"dream_items"`              // remembered from earlier dreams: d1..dN
	Memories  []DreamMemoryView  `json:"group_memories,omitempty"` // m1..mN
	Sessions  []DreamSessionView `json:"dream_sessions,omitempty"`
	Parts     []DreamPartView    `json:"dream_parts,omitempty"` // combining: instead of the two above
	// Again says, where the question is asked a second time, what was wrong with
	// the first answer.
	Again []string `json:"again,omitempty"`
}

// DreamItemView is an item of an earlier dream: a handle, never a UUID. It is
// replaced, and never cited.
type DreamItemView struct {
	ID      string `json:"id"` // d1..dN
	Type    string `json:"type"`
	Content string `json:"content"`
	Since   string `json:"since"` // local date of its birth
}

// DreamMemoryView is a memory of the group.
type DreamMemoryView struct {
	ID        string `json:"id"` // m1..mN
	Statement string `json:"statement"`
	Date      string `json:"date,omitempty"` // local date of its newest evidence; of a new one alone
	New       bool   `json:"new,omitempty"`  // since the last dream
}

// DreamSessionView is what is new of one session.
type DreamSessionView struct {
	ID      string          `json:"id,omitempty"` // s1..sN; "" where no summary is shown, and the session cannot be cited
	From    string          `json:"from"`         // local dates of its first and last message, "" where they are not known
	To      string          `json:"to"`
	Summary string          `json:"summary,omitempty"`
	Facts   []DreamFactView `json:"facts"`
}

// DreamFactView is a fact of a session.
type DreamFactView struct {
	ID        string `json:"id"`             // f1..fN
	Type      string `json:"type,omitempty"` // fact, preference, project, where it is known
	Statement string `json:"statement"`
	Date      string `json:"date"` // local date of its newest evidence
}

// DreamPartView is what one question about a part of the material came to.
type DreamPartView struct {
	Summary string              `json:"summary"`
	Items   []DreamPartItemView `json:"items"`
}

// DreamPartItemView is an item of a part, to be merged with those like it of other
// parts, kept, or left out.
type DreamPartItemView struct {
	ID         string  `json:"id"` // c1..cN
	Type       string  `json:"type"`
	Content    string  `json:"content"`
	Confidence float64 `json:"confidence"`
	Sources    int     `json:"sources"`           // how many memories it rests on
	Replace    string  `json:"replace,omitempty"` // the item of dream_items that it replaces
	Done       bool    `json:"done,omitempty"`
	Keep       bool    `json:"keep,omitempty"` // it bears that item out, whose content it shows
}

// Dream is the name of the prompt that condenses sessions and memories.
const Dream = "dream"

// Dream renders dream in a language, [English] or [Chinese].
func (s *Set) Dream(language string, system DreamSystem, user DreamUser) (Rendered, error) {
	system.StatementLanguage = statementLanguage(language)
	user.Notice = Notice
	return s.render(Dream, language, system, user)
}
