package static

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// tokenizer turns a text into token numbers as the Hugging Face library does with the same tokenizer.json. It adds
// no special tokens, such as [CLS], and ignores them in the text of a chat.
type tokenizer struct {
	normalize func(string) string
	split     func([]string) []string
	model     tokenModel
	last      int // the highest token number
}

// tokenModel splits a piece of text into tokens. Unknown text has none.
type tokenModel interface {
	tokens(piece string, list []int) []int
}

// step is one step of a tokenizer.json: its type, and the parameters of that type.
type step struct {
	Type          string            `json:"type"`
	Normalizers   []step            `json:"normalizers"`
	Pretokenizers []step            `json:"pretokenizers"`
	CleanText     bool              `json:"clean_text"`
	Chinese       bool              `json:"handle_chinese_chars"`
	StripAccents  *bool             `json:"strip_accents"`
	Lowercase     bool              `json:"lowercase"`
	Left          bool              `json:"strip_left"`
	Right         bool              `json:"strip_right"`
	Prepend       string            `json:"prepend"`
	Pattern       map[string]string `json:"pattern"`
	Content       string            `json:"content"`
	Replacement   string            `json:"replacement"`
	PrependScheme string            `json:"prepend_scheme"`
	PrefixSpace   *bool             `json:"add_prefix_space"`
	Split         *bool             `json:"split"`
}

func newTokenizer(spec []byte) (*tokenizer, error) {
	var file struct {
		Normalizer   *step           `json:"normalizer"`
		PreTokenizer *step           `json:"pre_tokenizer"`
		Model        json.RawMessage `json:"model"`
	}
	if err := decode(spec, &file); err != nil {
		return nil, err
	}
	t := &tokenizer{normalize: func(s string) string { return s }, split: func(s []string) []string { return s }}
	var err error
	if file.Normalizer != nil {
		if t.normalize, err = normalizer(*file.Normalizer); err != nil {
			return nil, err
		}
	}
	if file.PreTokenizer != nil {
		if t.split, err = splitter(*file.PreTokenizer); err != nil {
			return nil, err
		}
	}
	t.model, t.last, err = newModel(file.Model)
	return t, err
}

// encode returns the known tokens of a text.
func (t *tokenizer) encode(text string) (list []int) {
	for _, piece := range t.split([]string{t.normalize(text)}) {
		list = t.model.tokens(piece, list)
	}
	return list
}

// sequence combines several steps into one.
func sequence[T any](steps []step, one func(step) (func(T) T, error)) (func(T) T, error) {
	all := make([]func(T) T, len(steps))
	for i, s := range steps {
		var err error
		if all[i], err = one(s); err != nil {
			return nil, err
		}
	}
	return func(v T) T {
		for _, f := range all {
			v = f(v)
		}
		return v
	}, nil
}

// normalizer returns the function of a normalization step.
func normalizer(s step) (func(string) string, error) {
	switch s.Type {
	case "Sequence":
		return sequence(s.Normalizers, normalizer)
	case "BertNormalizer":
		return bert(s), nil
	case "NFC":
		return norm.NFC.String, nil
	case "NFD":
		return norm.NFD.String, nil
	case "NFKC":
		return norm.NFKC.String, nil
	case "NFKD":
		return norm.NFKD.String, nil
	case "Precompiled": // SentencePiece's table is NFKC, without control characters and with uniform white space
		return func(text string) string { return clean(norm.NFKC.String(text)) }, nil
	case "Lowercase":
		return strings.ToLower, nil
	case "StripAccents":
		return withoutAccents, nil
	case "Strip":
		return func(text string) string {
			if s.Left {
				text = strings.TrimLeftFunc(text, unicode.IsSpace)
			}
			if s.Right {
				text = strings.TrimRightFunc(text, unicode.IsSpace)
			}
			return text
		}, nil
	case "Prepend":
		return func(text string) string {
			if text == "" {
				return text
			}
			return s.Prepend + text
		}, nil
	case "Replace":
		if exact, ok := s.Pattern["String"]; ok {
			return func(text string) string { return strings.ReplaceAll(text, exact, s.Content) }, nil
		}
		pattern, err := regexp.Compile(s.Pattern["Regex"])
		if err != nil {
			return nil, fmt.Errorf("a pattern that Go does not have: %w", err)
		}
		return func(text string) string { return pattern.ReplaceAllLiteralString(text, s.Content) }, nil
	}
	return nil, fmt.Errorf("normalizer %q is not supported", s.Type)
}

// bert returns the normalizer of BERT and similar models.
func bert(s step) func(string) string {
	return func(text string) string {
		if s.CleanText {
			text = clean(text)
		}
		if s.Chinese {
			text = mapRunes(text, func(r rune, b *strings.Builder) {
				if !isHan(r) {
					b.WriteRune(r)
					return
				}
				b.WriteByte(' ')
				b.WriteRune(r)
				b.WriteByte(' ')
			})
		}
		if s.StripAccents == nil && s.Lowercase || s.StripAccents != nil && *s.StripAccents {
			text = withoutAccents(norm.NFD.String(text))
		}
		if s.Lowercase {
			text = strings.ToLower(text)
		}
		return text
	}
}

func mapRunes(text string, write func(rune, *strings.Builder)) string {
	var b strings.Builder
	b.Grow(len(text))
	for _, r := range text {
		write(r, &b)
	}
	return b.String()
}

// clean removes control characters, and turns all white space into spaces.
func clean(text string) string {
	return mapRunes(text, func(r rune, b *strings.Builder) {
		switch {
		case r == '\t' || r == '\n' || r == '\r' || unicode.IsSpace(r):
			b.WriteByte(' ')
		case r == 0 || r == utf8.RuneError || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co):
		default:
			b.WriteRune(r)
		}
	})
}

func withoutAccents(text string) string {
	return mapRunes(text, func(r rune, b *strings.Builder) {
		if !unicode.Is(unicode.Mn, r) {
			b.WriteRune(r)
		}
	})
}

// isHan reports whether BERT isolates the character: the blocks of CJK ideographs.
func isHan(r rune) bool {
	return r >= 0x4E00 && r <= 0x9FFF || r >= 0x3400 && r <= 0x4DBF || r >= 0x20000 && r <= 0x2A6DF ||
		r >= 0x2A700 && r <= 0x2CEAF || r >= 0xF900 && r <= 0xFAFF || r >= 0x2F800 && r <= 0x2FA1F
}

// splitter returns the function of a step that splits before the model.
func splitter(s step) (func([]string) []string, error) {
	switch s.Type {
	case "Sequence":
		return sequence(s.Pretokenizers, splitter)
	case "BertPreTokenizer":
		return each(func(text string) []string { return isolate(strings.FieldsFunc(text, unicode.IsSpace)) }), nil
	case "WhitespaceSplit":
		return each(func(text string) []string { return strings.FieldsFunc(text, unicode.IsSpace) }), nil
	case "Whitespace":
		words := regexp.MustCompile(`[\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}]+|[^\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\s]+`)
		return each(func(text string) []string { return words.FindAllString(text, -1) }), nil
	case "Punctuation":
		return isolate, nil
	case "Metaspace":
		return metaspace(s), nil
	}
	return nil, fmt.Errorf("pre-tokenizer %q is not supported", s.Type)
}

func each(cut func(string) []string) func([]string) []string {
	return func(list []string) (out []string) {
		for _, text := range list {
			out = append(out, cut(text)...)
		}
		return out
	}
}

// isolate makes each punctuation character a piece of its own.
func isolate(list []string) (out []string) {
	for _, text := range list {
		start := 0
		for i, r := range text {
			if !isPunctuation(r) {
				continue
			}
			end := i + utf8.RuneLen(r)
			out = append(out, text[start:i], text[i:end])
			start = end
		}
		out = append(out, text[start:])
	}
	return out
}

// isPunctuation counts the symbols of ASCII as punctuation.
func isPunctuation(r rune) bool {
	return unicode.IsPunct(r) || r < 0x80 && unicode.IsSymbol(r)
}

// metaspace replaces spaces by a sign that begins the pieces.
func metaspace(s step) func([]string) []string {
	prepend := s.PrependScheme != "never" && (s.PrefixSpace == nil || *s.PrefixSpace || s.PrependScheme != "")
	return func(list []string) (out []string) {
		for i, text := range list {
			if text == "" {
				continue
			}
			text = strings.ReplaceAll(text, " ", s.Replacement)
			if prepend && (s.PrependScheme != "first" || i == 0) && !strings.HasPrefix(text, s.Replacement) {
				text = s.Replacement + text
			}
			if s.Split != nil && !*s.Split {
				out = append(out, text)
				continue
			}
			for text != "" {
				end := strings.Index(text[1:], s.Replacement) + 1
				if end == 0 {
					end = len(text)
				}
				out, text = append(out, text[:end]), text[end:]
			}
		}
		return out
	}
}

// newModel returns the model of a tokenizer.json, and the highest token number.
func newModel(raw json.RawMessage) (tokenModel, int, error) {
	var kind struct {
		Type  string          `json:"type"`
		Vocab json.RawMessage `json:"vocab"`
		Unk   string          `json:"unk_token"`
		UnkID *int            `json:"unk_id"`
		Next  string          `json:"continuing_subword_prefix"`
		Max   int             `json:"max_input_chars_per_word"`
	}
	if err := decode(raw, &kind); err != nil {
		return nil, 0, fmt.Errorf("its model: %w", err)
	}
	switch kind.Type {
	case "WordPiece":
		m := &wordPiece{next: kind.Next, most: kind.Max}
		if err := decode(kind.Vocab, &m.vocabulary); err != nil {
			return nil, 0, fmt.Errorf("its vocabulary: %w", err)
		}
		last := 0
		for _, id := range m.vocabulary {
			last = max(last, id)
		}
		m.unknown, m.hasUnknown = m.vocabulary[kind.Unk]
		return m, last, nil
	case "Unigram":
		return newUnigram(kind.Vocab, kind.UnkID)
	}
	return nil, 0, fmt.Errorf("its model is %q; WordPiece and Unigram are supported", kind.Type)
}

// wordPiece repeatedly takes the longest known token from the front.
type wordPiece struct {
	vocabulary map[string]int
	unknown    int
	hasUnknown bool
	next       string // prefix of tokens that do not begin a word
	most       int    // maximum number of characters of a word
}

func (m *wordPiece) tokens(word string, list []int) []int {
	if m.most > 0 && utf8.RuneCountInString(word) > m.most {
		return list
	}
	found := list
	for start, prefix := 0, ""; start < len(word); prefix = m.next {
		end := len(word)
		for ; end > start; end-- {
			if id, ok := m.vocabulary[prefix+word[start:end]]; ok {
				if m.hasUnknown && id == m.unknown {
					return list
				}
				found = append(found, id)
				break
			}
		}
		if end == start {
			return list // a word with an unknown part is unknown
		}
		start = end
	}
	return found
}

// unigram takes the most probable tokens.
type unigram struct {
	vocabulary map[string]unigramToken
	unknown    int     // -1: none
	penalty    float64 // score of a character that no token contains
	longest    int     // maximum bytes of a token
}

type unigramToken struct {
	id    int
	score float64 // logarithm of its frequency
}

// unknownPenalty is how much lower the score of an unknown character is than that of the worst token, as in
// SentencePiece.
const unknownPenalty = 10

func newUnigram(raw json.RawMessage, unknown *int) (*unigram, int, error) {
	var vocabulary [][2]any
	if err := decode(raw, &vocabulary); err != nil {
		return nil, 0, fmt.Errorf("its vocabulary: %w", err)
	}
	m := &unigram{vocabulary: make(map[string]unigramToken, len(vocabulary)), unknown: -1}
	if unknown != nil {
		m.unknown = *unknown
	}
	lowest := math.Inf(1)
	for id, entry := range vocabulary {
		token, isText := entry[0].(string)
		score, isNumber := entry[1].(float64)
		if !isText || !isNumber {
			return nil, 0, fmt.Errorf("its vocabulary: token %d is no pair of a text and a number", id)
		}
		m.vocabulary[token] = unigramToken{id, score}
		m.longest, lowest = max(m.longest, len(token)), min(lowest, score)
	}
	if len(vocabulary) == 0 {
		return nil, 0, errors.New("its vocabulary is empty")
	}
	m.penalty = lowest - unknownPenalty
	return m, len(vocabulary) - 1, nil
}

// reached is the best way to a position in a piece.
type reached struct {
	score float64
	from  int
	token int // -1: no token contains this character
	known bool
}

func (m *unigram) tokens(piece string, list []int) []int {
	best := make([]reached, len(piece)+1)
	best[0].known = true
	reach := func(to int, r reached) {
		if !best[to].known || r.score > best[to].score {
			best[to] = r
		}
	}
	for start, r := range piece {
		width := utf8.RuneLen(r)
		if r == utf8.RuneError {
			_, width = utf8.DecodeRuneInString(piece[start:])
		}
		single := false
		for end := start + width; end <= min(len(piece), start+m.longest); end++ {
			if token, ok := m.vocabulary[piece[start:end]]; ok {
				single = single || end == start+width
				reach(end, reached{best[start].score + token.score, start, token.id, true})
			}
		}
		if !single {
			reach(start+width, reached{best[start].score + m.penalty, start, -1, true})
		}
	}
	first := len(list)
	for at := len(piece); at > 0; at = best[at].from {
		if token := best[at].token; token >= 0 && token != m.unknown {
			list = append(list, token)
		}
	}
	for i, j := first, len(list)-1; i < j; i, j = i+1, j-1 {
		list[i], list[j] = list[j], list[i]
	}
	return list
}
