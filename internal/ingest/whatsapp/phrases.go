package whatsapp

import (
	_ "embed"
	"strings"
	"unicode/utf8"

	"reverie/internal/ingest/export"
	"reverie/internal/text"
)

// waLongestPhrase is an upper bound for the length of the app's own phrases, in bytes.
const waLongestPhrase = 400

//go:embed phrases.toml
var phraseFile string

// phrases are the app's own phrases; phrases.toml explains each.
var phrases = text.ReadTOML[struct {
	Encrypted, Deleted, Nothing, Edited, Attached, File text.Pattern
	PollHead                                            text.Pattern   `toml:"poll_head"`
	Things                                              text.Pattern   // these four are parts of the expressions below
	LeftOut                                             text.Pattern   `toml:"left_out"`
	EasternThings                                       text.Pattern   `toml:"eastern_things"`
	EasternLeftOut                                      text.Pattern   `toml:"eastern_left_out"`
	Titles                                              []text.Pattern // their first group is the chat's title
	Eras                                                map[string]int
	Halves                                              struct{ AM, PM, Noon, Night string }
}](phraseFile)

var (
	leftOut  = `(?:` + phrases.LeftOut.String() + `)`
	leftOutE = `(?:` + phrases.EasternLeftOut.String() + `)`

	// WaOmitted matches a placeholder for a picture or similar as the whole text.
	waOmitted = text.NewPattern(`(?i)^(?:(?:` + phrases.Things.String() + `) ` + leftOut +
		`|(?:` + phrases.EasternThings.String() + `) ?(?:は|が|已被|已|被)?` + leftOutE + `)[.。]?$`)

	// WaMarked matches the same after a direction mark, which people do not write.
	waMarked = text.NewPattern(`(?i)^(?:\S+ ){1,3}` + leftOut + `$|^\S{0,12}(?:\s\S{0,8})?` + leftOutE + `$`)

	waPages   = text.NewPattern(`^[^\n]*\.[A-Za-z0-9]{1,5} •[^\n]*$|^\S+\.[A-Za-z0-9]{1,5}$`)
	waOption  = text.NewPattern(`^[\p{L}]{2,12} ?[:：] ?(.*?) ?[(（][^()（）]*\d[^()（）]*[)）]$`)
	waPlaceAt = text.NewPattern(`https?://(?:maps\.google\.com|www\.google\.com/maps|foursquare\.com|4sq\.com)/`)
)

// waSaid returns the text of a person's message, and whether it is the app's phrase instead. marked says that
// exactly such phrases begin with a direction mark.
func waSaid(said string, marked bool) (text string, event bool) {
	led := marked && strings.HasPrefix(strings.TrimLeft(said, " "), "\u200e")
	if cut := strings.LastIndex(said, "\u200e"); cut > 0 &&
		waMarked.MatchString(strings.TrimSpace(waPlainText(said[cut:]))) {
		said = said[:cut] // a caption, or a document's name
		if name := waPlainText(said); waPages.MatchString(name) {
			return "", false
		}
		led = led && cut == 0
	}
	text = waPlainText(said)
	switch {
	case len(text) > waLongestPhrase:
	case phrases.Deleted.MatchString(text):
		return "", true
	case phrases.Nothing.MatchString(text), led && waMarked.MatchString(text):
		return "", false
	}
	if strings.HasSuffix(text, ">") {
		text = strings.TrimSpace(phrases.Edited.ReplaceAllString(text, ""))
	}
	first, more, _ := strings.Cut(text, "\n")
	first = strings.TrimRight(first, " \r")
	switch {
	case len(first) <= waLongestPhrase &&
		waOmitted.MatchString(first), waBracketed(first), strings.Contains(first, ".") && phrases.File.MatchString(first):
		return strings.TrimSpace(more), false
	case strings.Contains(text, "<") && phrases.Attached.MatchString(text):
		caption := strings.TrimSpace(phrases.Attached.ReplaceAllString(text, ""))
		if waPages.MatchString(caption) {
			caption = ""
		}
		return caption, false
	case phrases.PollHead.MatchString(first):
		return waPoll(more), false
	}
	return text, led && text != "" && !waPlaceAt.MatchString(text)
}

// waBracketed reports whether a line consists of words in angle brackets, which the app writes in any language for
// omitted content.
func waBracketed(s string) bool {
	inside, ok := strings.CutPrefix(s, "<")
	inside, end := strings.CutSuffix(inside, ">")
	if n := utf8.RuneCountInString(inside); !ok || !end || n < 4 || n > 60 || strings.ContainsAny(inside, `<>=/"':`) {
		return false
	}
	return strings.Contains(inside, " ") || len(inside) > utf8.RuneCountInString(inside)
}

// waPoll returns the question and the choices of a poll, without the votes.
func waPoll(lines string) string {
	question, answers := "", []string(nil)
	for l := range strings.Lines(lines) {
		l = strings.TrimSpace(l)
		if m := waOption.FindStringSubmatch(l); m != nil && question != "" {
			answers = append(answers, m[1])
		} else {
			question = export.JoinLines(question, l)
		}
	}
	return export.PollText(question, answers)
}

// waInvisible removes invisible marks from a text; some marks of right-to-left text stay.
var waInvisible = strings.NewReplacer("\ufeff", "", "\u200e", "", "\u202a", "", "\u202b", "", "\u202c", "", "\u202d",
	"", "\u202e", "",
	"\u2066", "", "\u2067", "", "\u2068", "", "\u2069", "")

// waPlainText returns a text without direction marks.
func waPlainText(s string) string { return strings.TrimSpace(waInvisible.Replace(s)) }
