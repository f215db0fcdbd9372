package export

import (
	"math/bits"
	"slices"
	"strings"
	"sync"

	"github.com/go-playground/locales"
	"github.com/go-playground/locales/af"
	"github.com/go-playground/locales/ar"
	"github.com/go-playground/locales/ar_DZ"
	"github.com/go-playground/locales/ar_MA"
	"github.com/go-playground/locales/ar_SY"
	"github.com/go-playground/locales/az"
	"github.com/go-playground/locales/be"
	"github.com/go-playground/locales/bg"
	"github.com/go-playground/locales/bn"
	"github.com/go-playground/locales/bs"
	"github.com/go-playground/locales/ca"
	"github.com/go-playground/locales/cs"
	"github.com/go-playground/locales/da"
	"github.com/go-playground/locales/de"
	"github.com/go-playground/locales/el"
	"github.com/go-playground/locales/en"
	"github.com/go-playground/locales/es"
	"github.com/go-playground/locales/et"
	"github.com/go-playground/locales/fa"
	"github.com/go-playground/locales/fi"
	"github.com/go-playground/locales/fil"
	"github.com/go-playground/locales/fr"
	"github.com/go-playground/locales/gl"
	"github.com/go-playground/locales/gu"
	"github.com/go-playground/locales/he"
	"github.com/go-playground/locales/hi"
	"github.com/go-playground/locales/hr"
	"github.com/go-playground/locales/hu"
	"github.com/go-playground/locales/hy"
	"github.com/go-playground/locales/id"
	"github.com/go-playground/locales/is"
	"github.com/go-playground/locales/it"
	"github.com/go-playground/locales/ka"
	"github.com/go-playground/locales/kk"
	"github.com/go-playground/locales/kn"
	"github.com/go-playground/locales/lt"
	"github.com/go-playground/locales/lv"
	"github.com/go-playground/locales/mk"
	"github.com/go-playground/locales/ml"
	"github.com/go-playground/locales/mr"
	"github.com/go-playground/locales/ms"
	"github.com/go-playground/locales/nb"
	"github.com/go-playground/locales/nl"
	"github.com/go-playground/locales/nn"
	"github.com/go-playground/locales/pa"
	"github.com/go-playground/locales/pl"
	"github.com/go-playground/locales/pt"
	"github.com/go-playground/locales/ro"
	"github.com/go-playground/locales/ru"
	"github.com/go-playground/locales/sk"
	"github.com/go-playground/locales/sl"
	"github.com/go-playground/locales/sq"
	"github.com/go-playground/locales/sr"
	"github.com/go-playground/locales/sv"
	"github.com/go-playground/locales/sw"
	"github.com/go-playground/locales/ta"
	"github.com/go-playground/locales/te"
	"github.com/go-playground/locales/th"
	"github.com/go-playground/locales/tr"
	"github.com/go-playground/locales/uk"
	"github.com/go-playground/locales/ur"
	"github.com/go-playground/locales/uz"
	"github.com/go-playground/locales/vi"
)

// tongues are the languages whose names of months are known, as the Unicode CLDR has them.
var tongues = []func() locales.Translator{
	en.New, de.New, nl.New, fr.New, it.New, es.New, ca.New, gl.New, pt.New, ro.New, da.New, nb.New, nn.New,
	sv.New, fi.New, is.New, et.New, lv.New, lt.New, pl.New, cs.New, sk.New, sl.New, hr.New, sr.New, bs.New,
	mk.New, bg.New, ru.New, uk.New, be.New, kk.New, uz.New, el.New, tr.New, az.New, hu.New, sq.New, ar.New,
	ar_SY.New, ar_DZ.New, ar_MA.New, he.New, fa.New, ur.New, hi.New, mr.New, bn.New, pa.New, gu.New, ta.New,
	te.New, kn.New, ml.New, th.New, vi.New, id.New, ms.New, fil.New, sw.New, ka.New, hy.New, af.New,
}

// meaning is a month, and in which languages a name means it.
type meaning struct {
	month     int
	languages uint64
}

// monthNames are the meanings of names of months, and of their beginnings.
var monthNames = sync.OnceValue(func() map[string][]meaning {
	all := map[string][]meaning{"mrz": {{3, 1<<63 - 1}}} // as systems shorten März
	for n, tongue := range tongues {
		locale := tongue()
		begins := map[string]int{} // -1 where two of its months begin so
		for i, name := range locale.MonthsWide() {
			letters := []rune(monthName(name))
			for end := 3; end <= len(letters); end++ {
				s := string(letters[:end])
				if begins[s] == 0 {
					begins[s] = i + 1
				} else if begins[s] != i+1 {
					begins[s] = -1
				}
			}
		}
		for _, list := range [][]string{locale.MonthsWide(), locale.MonthsAbbreviated()} {
			for i, name := range list {
				begins[monthName(name)] = i + 1
			}
		}
		for s, month := range begins {
			if i := slices.IndexFunc(all[s], func(m meaning) bool { return m.month == month }); i >= 0 {
				all[s][i].languages |= 1 << n
			} else if month > 0 {
				all[s] = append(all[s], meaning{month, 1 << n})
			}
		}
	}
	return all
})

func monthName(s string) string { return strings.ToLower(strings.Trim(s, ". ")) }

// Months reads names of months: in any language, or in those that fit the names it has seen. The zero
// value has seen none.
type Months struct{ languages uint64 }

// See narrows the languages down to those that know a name.
func (m *Months) See(name string) {
	var know uint64
	for _, means := range monthNames()[monthName(name)] {
		know |= means.languages
	}
	if both := m.fitting() & know; both != 0 {
		m.languages = both
	}
}

func (m Months) fitting() uint64 {
	if m.languages == 0 {
		return 1<<64 - 1
	}
	return m.languages
}

// Of is the month that most of the languages call so; 0 is none.
func (m Months) Of(name string) (month int) {
	most := 0
	for _, means := range monthNames()[monthName(name)] {
		if n := bits.OnesCount64(means.languages & m.fitting()); n > most || n == most && n > 0 && means.month > month {
			month, most = means.month, n
		}
	}
	return month
}
