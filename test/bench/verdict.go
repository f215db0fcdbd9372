package main

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// bar is what is asked of a unit of the results that match: at least or at most.
type bar struct {
	says, match, unit string
	least, most       float64 // one of them
	// over judges the largest of these sizes over the smallest, not each result.
	over string
	// beside judges each result over the one whose name has this instead of its own
	// value of the same key.
	beside string
	// tie is the word for a figure that is just at the bar: "met" where there is none.
	tie string
}

// verdict is a figure held against a bar.
type verdict struct {
	bar    bar
	where  string
	figure float64
}

func (v verdict) met() bool {
	if v.bar.least != 0 {
		return v.figure >= v.bar.least
	}
	return v.figure <= v.bar.most
}

// bound says what is asked, and word what became of it.
func (b bar) bound() string {
	if b.least != 0 {
		return "at least " + figure(b.least)
	}
	return "at most " + figure(b.most)
}

// text is the figure, with more digits where it would look like the bar that it misses.
func (v verdict) text() string {
	text := figure(v.figure)
	if at := v.bar.least + v.bar.most; !v.met() && math.Abs(v.figure-at) < at/100 {
		return strconv.FormatFloat(v.figure, 'g', 6, 64)
	}
	return text
}

func (v verdict) word() string {
	switch {
	case !v.met():
		return "**missed**"
	case v.bar.tie != "" && v.figure == v.bar.least+v.bar.most:
		return v.bar.tie
	default:
		return "met"
	}
}

// judge holds results against the bar: a verdict for each, none where nothing was
// measured.
func (b bar) judge(results []result) (all []verdict) {
	match := regexp.MustCompile(b.match)
	var found []result
	for _, r := range results {
		if _, ok := r.value(b.unit); ok && match.MatchString(r.Name) {
			found = append(found, r)
		}
	}
	switch {
	case b.over != "":
		return b.judgeOver(found)
	case b.beside != "":
		return b.judgeBeside(found)
	}
	for _, r := range found {
		v, _ := r.value(b.unit)
		all = append(all, verdict{b, where(r), v})
	}
	return all
}

// judgeOver compares the ends of each series.
func (b bar) judgeOver(found []result) (all []verdict) {
	for _, s := range growths(found, []string{b.unit}) {
		if s.size != b.over {
			continue
		}
		from, to := s.points[0], s.points[len(s.points)-1]
		where := fmt.Sprintf("%s %s over %s", figure(to.x), s.size, figure(from.x))
		if s.what != "" {
			where += ", " + strings.ReplaceAll(s.what, "=", " ")
		}
		all = append(all, verdict{b, where, to.y / from.y})
	}
	return all
}

// judgeBeside compares each with ours of the same sizes.
func (b bar) judgeBeside(found []result) (all []verdict) {
	key, _, _ := strings.Cut(b.beside, "=")
	own := regexp.MustCompile(regexp.QuoteMeta(key) + `=[^/]*`)
	ours := map[string]float64{}
	for _, r := range found {
		if strings.Contains(r.Name+"/", b.beside+"/") {
			ours[r.Name], _ = r.value(b.unit)
		}
	}
	for _, r := range found {
		twin := own.ReplaceAllString(r.Name, b.beside)
		base, known := ours[twin]
		if !known || twin == r.Name {
			continue
		}
		v, _ := r.value(b.unit)
		all = append(all, verdict{b, where(r), v / base})
	}
	return all
}

// worst is the verdict that is farthest from its bar, of those of one bar.
func worst(all []verdict) (w verdict, ok bool) {
	for i, v := range all {
		if i == 0 || v.bar.least != 0 && v.figure < w.figure || v.bar.least == 0 && v.figure > w.figure {
			w = v
		}
	}
	return w, len(all) > 0
}

// where is the case of a result in words.
func where(r result) string {
	words, keys, at := r.sizes()
	for _, k := range keys {
		words = append(words, k+" "+number(at[k]))
	}
	if len(words) == 0 {
		return r.Name
	}
	return strings.Join(words, ", ")
}

// number is a size with its thousands apart, and anything else as it is.
func number(text string) string {
	if x, err := strconv.ParseFloat(text, 64); err == nil && x == math.Trunc(x) {
		return figure(x)
	}
	return text
}
