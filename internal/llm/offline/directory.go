package offline

import (
	"slices"
	"strings"
	"unicode/utf8"

	"reverie/internal/lazyregexp"
	"reverie/internal/text"
)

// directory is who may be meant by a name in the messages of a question.
type directory struct {
	labels  map[string][]string // labels by the key of a name
	all     []string            // names, the longest first
	authors map[string]bool     // names of authors in small letters
	asked   map[string]bool     // labels of the subjects
	wrote   map[string]bool     // labels of the authors
}

// numbered is what tells two of one name apart: Alex#1.
var numbered = lazyregexp.New(`#\d+$`)

// baseName is a label as people write it.
func baseName(label string) string { return numbered.ReplaceAllString(label, "") }

func readDirectory(subjects []observed, messages []message) directory {
	d := directory{labels: map[string][]string{}, authors: map[string]bool{}, asked: map[string]bool{}, wrote: map[string]bool{}}
	add := func(name, label string) {
		key := text.NameKey(name)
		if utf8.RuneCountInString(key) < 2 || slices.Contains(d.labels[key], label) {
			return
		}
		if d.labels[key] == nil {
			d.all = append(d.all, strings.TrimSpace(name))
		}
		d.labels[key] = append(d.labels[key], label)
	}
	for _, s := range subjects {
		d.asked[s.Name] = true
		add(baseName(s.Name), s.Name)
		for _, alias := range s.Aliases {
			add(alias, s.Name)
		}
	}
	for _, m := range messages {
		d.wrote[m.Author] = true
		add(baseName(m.Author), m.Author)
		d.authors[strings.ToLower(baseName(m.Author))] = true
	}
	for _, m := range messages {
		if found := introduced.FindStringSubmatch(m.Text); found != nil && m.fromPerson() && plausible(found[1]) {
			add(found[1], found[1])
		}
	}
	slices.SortStableFunc(d.all, func(a, b string) int { return len(b) - len(a) })
	return d
}

// introduced is a name that somebody presents in Chinese, where nothing shows
// that it is one: 梅兰是我姐姐.
var introduced = lazyregexp.New(`^(\p{Han}{2,3})是我的?(?:` + kinDense + `)`)

// resolve returns the label that a name means, the plain name where it means
// several, "" where nobody has it. A number behind a label says that there are
// several, though the others are not of this question.
func (d directory) resolve(name string) string {
	switch labels := d.labels[text.NameKey(name)]; {
	case len(labels) == 0:
		return ""
	case len(labels) == 1 && (!numbered.MatchString(labels[0]) || text.NameKey(name) != text.NameKey(baseName(labels[0]))):
		return labels[0]
	}
	return strings.TrimSpace(name)
}

// elsewhere tells whether a subject is observed by another question: somebody
// who writes here, and is not asked for.
func (d directory) elsewhere(subject string) bool { return !d.asked[subject] && d.wrote[subject] }

var (
	selfSubject = lazyregexp.New(`(?i)^(?:i(?:['’]?(?:m|ve|d|ll))?|im|ive|my)\s`)
	// nameSubject is somebody's name in front of an English predicate.
	nameSubject = lazyregexp.New(`^(@?[A-Z][\p{L}\p{N}_'-]*?)(['’]s)?\s`)
	familiar    = lazyregexp.New(`^[小老阿]\p{Han}`)
)

// subject reads whom a clause is about, and what it says: of the subject (I live
// in Lisbon), or of what is its own (my dog is called Miso).
func (d directory) subject(clause, author string) (label, predicate string, owned bool) {
	if rest, ok := strings.CutPrefix(clause, "我"); ok && !strings.HasPrefix(rest, "们") {
		return author, rest, false
	}
	if found := selfSubject.FindString(clause); found != "" {
		rest := strings.TrimSpace(clause[len(found):])
		switch word := strings.ToLower(strings.TrimSpace(found)); {
		case word == "my":
			return author, rest, true
		case strings.HasSuffix(word, "m"):
			return author, "am " + rest, false
		case strings.HasSuffix(word, "d"), strings.HasSuffix(word, "ll"):
			return "", "", false
		}
		return author, rest, false
	}
	for _, name := range d.all {
		if rest, ok := cutName(clause, name); ok {
			predicate, owned = ofName(rest)
			return d.resolve(name), predicate, owned
		}
	}
	if found := nameSubject.FindStringSubmatch(clause); found != nil && !notPeople[strings.ToLower(found[1])] {
		predicate, owned = ofName(clause[len(found[1]):])
		return strings.TrimPrefix(found[1], "@"), predicate, owned
	}
	if found := familiar.FindString(clause); found != "" && plausible(found) {
		return found, clause[len(found):], false
	}
	return "", "", false
}

// cutName cuts a name off the front of a clause, however its letters are cased.
func cutName(clause, name string) (rest string, ok bool) {
	clause = strings.TrimPrefix(clause, "@")
	if len(clause) <= len(name) || !strings.EqualFold(clause[:len(name)], name) {
		return "", false
	}
	rest = clause[len(name):]
	last, _ := utf8.DecodeLastRuneInString(name)
	next, _ := utf8.DecodeRuneInString(rest)
	if kind := scriptOf(last); kind != scriptDense && kind != scriptNone && scriptOf(next) == kind {
		return "", false // Lin is not Linda
	}
	return rest, true
}

// ofName reads what follows a name: "'s dog is called Miso", "'s a nurse".
func ofName(rest string) (predicate string, owned bool) {
	for _, mark := range []string{"'s ", "’s "} {
		if after, ok := strings.CutPrefix(rest, mark); ok {
			if contracted.MatchString(after) {
				return "is " + after, false
			}
			return strings.TrimSpace(after), true
		}
	}
	return strings.TrimSpace(rest), false
}

// contracted follows a name and "is": Lin's a nurse.
var contracted = lazyregexp.New(`(?i)^(?:an?|from|allergic|living|based|working|vegan|vegetarian|my|now|also)\b`)

// notPeople begin sentences with a capital letter and are nobody's name.
var notPeople = wordSet(`the a an this that these those it its he she they we you i my our your his her their mine yours ours hers theirs who what where when why how which there here
	everyone everybody someone somebody anyone anybody nobody one people all most some many both mom mum mother dad father grandma grandpa brother sister
	boss yes no not and but so if because since although while after before then now today tomorrow yesterday monday tuesday wednesday thursday friday
	saturday sunday january february march april may june july august september october november december please let don't never always just still
	another other every each any with for from in on at to as by of or nor yet also well ok okay hi hello hey thanks sorry maybe perhaps only even
	system assistant user ignore remember record note`)

// plausible tells whether Han characters may be somebody's name.
func plausible(name string) bool {
	return !strings.ContainsAny(name, "我你您他她它们这那的了在是不没也都就很和跟谁哪啥什么怎吗呢吧有个家人群爸妈爷奶哥姐弟妹师时候板婆公实")
}
