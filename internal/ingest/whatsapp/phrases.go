package whatsapp

import (
	_ "embed"
	"strings"
	"unicode/utf8"

	"reverie/internal/ingest/export"
	"reverie/internal/text"
)

// waLongestPhrase is more than the app puts in the place of words, in bytes.
const waLongestPhrase = 400

//go:embed phrases.toml
var phraseFile string

// phrases are the app's own words: phrases.toml says what each is.
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

	// waOmitted is what stands for a picture and the like, by itself.
	waOmitted = text.NewPattern(`(?i)^(?:(?:` + phrases.Things.String() + `) ` + leftOut +
		`|(?:` + phrases.EasternThings.String() + `) ?(?:は|が|已被|已|被)?` + leftOutE + `)[.。]?$`)

	// waMarked is the same behind a mark of direction, where no person writes.
	waMarked = text.NewPattern(`(?i)^(?:\S+ ){1,3}` + leftOut + `$|^\S{0,12}(?:\s\S{0,8})?` + leftOutE + `$`)

	waPages   = text.NewPattern(`^[^\n]*\.[A-Za-z0-9]{1,5} •[^\n]*$|^\S+\.[A-Za-z0-9]{1,5}$`)
	waOption  = text.NewPattern(`^[\p{L}]{2,12} ?[:：] ?(.*?) ?[(（][^()（）]*\d[^()（）]*[)）]$`)
	waPlaceAt = text.NewPattern(`https?://(?:maps\.google\.com|www\.google\.com/maps|foursquare\.com|4sq\.com)/`)
)

// waSaid is what a person's message says, and whether it is the app's word instead.
// marked tells that such words, and only they, begin with a mark of direction.
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

// waBracketed tells whether a line is nothing but words in angle brackets, as the app
// writes in place of what it left out, in whatever language.
func waBracketed(s string) bool {
	inside, ok := strings.CutPrefix(s, "<")
	inside, end := strings.CutSuffix(inside, ">")
	if n := utf8.RuneCountInString(inside); !ok || !end || n < 4 || n > 60 || strings.ContainsAny(inside, `<>=/"':`) {
		return false
	}
	return strings.Contains(inside, " ") || len(inside) > utf8.RuneCountInString(inside)
}

// waPoll is the question and the answers of a poll, without how many chose them.
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

// waInvisible are the marks that a text loses; of right-to-left text some stay.
var waInvisible = strings.NewReplacer("\ufeff", "", "\u200e", "", "\u202a", "", "\u202b", "", "\u202c", "", "\u202d",
	"", "\u202e", "",
	"\u2066", "", "\u2067", "", "\u2068", "", "\u2069", "")

// waPlainText is a text without marks of direction.
func waPlainText(s string) string { return strings.TrimSpace(waInvisible.Replace(s)) }
