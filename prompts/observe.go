package prompts

// ObserveSystem is what the impression_observe text is filled with.
type ObserveSystem struct {
	StatementLanguage string // as the prompt's language names it
	MaxValue          int    // characters of an impression or a value
	MaxName           int    // characters of a name, key or kind
}

// ObserveUser is the user part of impression_observe: some people and things, and
// the messages that concern them.
type ObserveUser struct {
	Notice   string        `json:"notice"`
	Subjects []SubjectView `json:"subjects"`
	Messages []MessageView `json:"messages"`
	// Again says, where the question is asked a second time, what was wrong with
	// the first answer.
	Again []string `json:"again,omitempty"`
}

// SubjectView is somebody or something as a model sees it: by name, never by id.
// Two of one name in a question are told apart by a number behind it (Alex#1,
// Alex#2), in the messages too.
type SubjectView struct {
	Name      string     `json:"name"`
	Kind      string     `json:"kind"` // person, bot, thing
	Aliases   []string   `json:"aliases,omitempty"`
	Namesakes []string   `json:"namesakes,omitempty"` // others who bear one of its names, subjects of the question or not
	Known     *KnownView `json:"known,omitempty"`     // what is remembered of it already
}

// KnownView is what is remembered of a subject.
type KnownView struct {
	Impressions []string          `json:"impressions,omitempty"`
	Features    map[string]string `json:"features,omitempty"`
	Relations   []RelationView    `json:"relations,omitempty"`
}

// RelationView is a relation of a subject to another.
type RelationView struct {
	Kind   string `json:"kind"`
	Target string `json:"target"`
}

// ImpressionObserve is the name of the prompt that observes people and things.
const ImpressionObserve = "impression_observe"

// Observe renders impression_observe in a language, [English] or [Chinese].
func (s *Set) Observe(language string, system ObserveSystem, user ObserveUser) (Rendered, error) {
	system.StatementLanguage = statementLanguage(language)
	user.Notice = Notice
	return s.render(ImpressionObserve, language, system, user)
}
