package offline

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// summary is the answer to the session_summarize prompt, one line.
type summary struct {
	Summary string `json:"summary"`
}

// summarize answers the session_summarize prompt: the summary so far, then what
// users asked for and how the answers began. What came first goes first, where
// room gets short.
func summarize(q question) (summary, error) {
	var rolling string
	var turns []message
	if err := errors.Join(q.read("rolling_summary", &rolling), q.read("older_turns", &turns)); err != nil {
		return summary{}, err
	}
	text, _ := condense(rolling, turns, true, reverie.MaxRollingSummary)
	return summary{text}, nil
}

// summaryLine is the line of the whole session's summary.
func (e *extraction) summaryLine() finding {
	text, evidence := condense(e.summary, e.messages, false, reverie.MaxStatement)
	return finding{Content: text, Type: typeSummary, Evidence: evidence}
}

// condense adds to a summary what users asked for, and how the answers began if
// those are wanted, and cuts sentences off its beginning until it fits. The
// evidence is the newest of the requests.
func condense(former string, turns []message, answers bool, limit int) (s string, evidence []citation) {
	s = strings.TrimSpace(former)
	for _, m := range turns {
		if !m.fromPerson() && (!answers || m.Role != string(reverie.RoleAssistant)) {
			continue
		}
		sentence, asks := leading(m)
		piece := reported(m, sentence, asks)
		if sentence == "" || reverie.CheckStatement(piece) != nil {
			continue
		}
		s = joinSentences(s, piece)
		if quote := quoteOf(sentence); m.fromPerson() && m.ID > 0 && text.VerifyQuote(quote, m.Text) {
			evidence = append(evidence, citation{m.ID, quote})
		}
	}
	if s == "" {
		s = nothingAsked(turns)
	}
	if len(evidence) == 0 {
		evidence = anyWords(turns)
	}
	for utf8.RuneCountInString(s) > limit {
		rest := strings.TrimSpace(s[len(splitSentences(s)[0]):])
		if rest == "" {
			s = string([]rune(s)[:limit])
			break
		}
		s = rest
	}
	return s, evidence[max(0, len(evidence)-maxEvidence):]
}

// joinSentences puts a sentence behind others.
func joinSentences(text, next string) string {
	if text == "" || strings.HasSuffix(text, "。") || strings.HasSuffix(text, "？") {
		return text + next
	}
	return text + " " + next
}

// nothingAsked says that there is nothing to say, in the language of the turns.
func nothingAsked(turns []message) string {
	for _, m := range turns {
		if m.fromPerson() && strings.ContainsFunc(m.Text, unicode.IsLetter) && isDense(m.Text) {
			return "用户和助手随便聊了几句。"
		}
	}
	return "Users and the assistant exchanged a few words."
}

// anyWords quotes the first message of a user that can be quoted.
func anyWords(turns []message) []citation {
	for _, m := range turns {
		if quote := quoteOf(strings.TrimSpace(m.Text)); m.fromPerson() && m.ID > 0 && text.VerifyQuote(quote, m.Text) {
			return []citation{{m.ID, quote}}
		}
	}
	return nil
}

// leading is the sentence that says best what a message is about: the first that
// asks, else the first that says anything.
func leading(m message) (sentence string, asks bool) {
	if instructs(m.Text) {
		return "", false
	}
	for _, text := range splitSentences(m.Text) {
		if isNoise(text) {
			continue
		}
		if t := speak(fold(text)); m.fromPerson() && (isQuestion(t) || marksRequest.in(t)) {
			return text, true
		}
		if sentence == "" {
			sentence = text
		}
	}
	return sentence, false
}

// reported puts a sentence in its author's mouth, with a mark at its end.
func reported(m message, sentence string, asks bool) string {
	dense := isDense(sentence)
	said := trimEnd(quoteOf(strings.Join(strings.Fields(sentence), " ")))
	who, verb := baseName(strings.TrimSpace(m.Author)), 0
	if _, ok := attribute(who, said); !ok {
		who = map[bool]string{false: "Somebody", true: "有人"}[dense]
	}
	switch {
	case !m.fromPerson():
		verb = 1
	case asks:
		verb = 2
	}
	if dense {
		return ended(who+[]string{"说：", "回答：", "问："}[verb]+said, "。")
	}
	return ended(who+[]string{" said: ", " answered: ", " asked: "}[verb]+said, ".")
}

// ended puts a mark behind a sentence that has none.
func ended(s, mark string) string {
	if strings.HasSuffix(s, "?") || strings.HasSuffix(s, "？") {
		return s
	}
	return s + mark
}
