package web

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strings"
	"time"
	"unicode"

	"reverie/internal/diff"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// hidden reports whether a character is invisible, or moves others: with such characters a chat could make a text
// look like another.
func hidden(r rune) bool {
	switch {
	case r == '\n' || r == '\t', r == 0x200c, r == 0x200d: // joiners are part of scripts and of emoji
		return false
	case r == 0xad, r == 0x115f, r == 0x1160, r == 0x3164, r == 0xffa0: // a soft hyphen, and letters that are blanks
		return true
	}
	return unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Co, r) ||
		r == unicode.ReplacementChar ||
		r == 0x2028 || r == 0x2029
}

// visible writes an untrusted text as HTML: escaped, with a run of hidden characters shown by the number of the
// first one and their count.
func visible(b *strings.Builder, said string) {
	for said != "" {
		plain := strings.IndexFunc(said, hidden)
		if plain < 0 {
			plain = len(said)
		}
		b.WriteString(html.EscapeString(said[:plain]))
		rest := strings.TrimLeftFunc(said[plain:], hidden)
		if row := []rune(said[plain : len(said)-len(rest)]); len(row) > 0 {
			fmt.Fprintf(b, `<span class="hidden-char">U+%04X`, row[0])
			if len(row) > 1 {
				b.WriteString(" × " + text.Grouped(len(row)))
			}
			b.WriteString("</span>")
		}
		said = rest
	}
}

// say returns an untrusted text as HTML with its own text direction.
func say(text string) template.HTML {
	var b strings.Builder
	b.WriteString("<bdi>")
	visible(&b, text)
	b.WriteString("</bdi>")
	return template.HTML(b.String()) //nolint:gosec // escaped above
}

// plain returns an untrusted text for places without markup: without hidden characters.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if hidden(r) {
			return -1
		}
		return r
	}, text)
}

// changes shows the difference of two texts word by word.
func changes(before, after string) template.HTML {
	var b strings.Builder
	b.WriteString(`<bdi class="diff">`)
	for _, p := range diff.Words(before, after) {
		switch p.Kind {
		case diff.Gone:
			b.WriteString("<del>")
			visible(&b, p.Text)
			b.WriteString("</del>")
		case diff.New:
			b.WriteString("<ins>")
			visible(&b, p.Text)
			b.WriteString("</ins>")
		default:
			visible(&b, p.Text)
		}
	}
	b.WriteString("</bdi>")
	return template.HTML(b.String()) //nolint:gosec // escaped above
}

// when formats an instant in a zone, to the second.
func when(t time.Time, zone *time.Location) template.HTML {
	if t.IsZero() {
		return ""
	}
	return template.HTML(fmt.Sprintf(`<time datetime="%s">%s</time>`, //nolint:gosec // digits
		t.UTC().Format(time.RFC3339), t.In(zone).Format(time.DateTime)))
}

// took formats a duration.
func took(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
}

// usd formats an amount of money. A small amount is not shown as zero.
func usd(amount float64) string {
	switch {
	case amount == 0:
		return "0"
	case amount < 0.0001:
		return "<0.0001"
	case amount < 1:
		return fmt.Sprintf("%.4f", amount)
	}
	return fmt.Sprintf("%.2f", amount)
}

// tone returns the look of a status or an action: good, accent, warn, bad or quiet.
func tone(status any) string {
	switch fmt.Sprint(status) {
	case "succeeded", "active", "applied", "approved", "create", "restore", "cited", "offered", "ok":
		return "good"
	case "update", "running", "answered":
		return "accent"
	case "held", "waiting", "deferred", "paused", "pending", "strength", "weight", "scope":
		return "warn"
	case "failed", "parked", "delete", "rejected":
		return "bad"
	}
	return "quiet"
}

// args returns the data of a shared template, from names and values in turns.
func args(pairs ...any) map[string]any {
	m := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		m[pairs[i].(string)] = pairs[i+1]
	}
	return m
}

// core reports whether a memory is core.
func core(m reverie.Memory) bool { return m.Weight >= reverie.CoreWeight }

// clock formats the time of day of an instant in a zone.
func clock(t time.Time, zone *time.Location) template.HTML {
	return template.HTML(fmt.Sprintf(`<time datetime="%s">%s</time>`, //nolint:gosec // digits
		t.UTC().Format(time.RFC3339), t.In(zone).Format(time.TimeOnly)))
}

// meter draws a small bar beside a number with the same value.
func meter(value, most float64) template.HTML {
	return template.HTML(fmt.Sprintf(`<svg class="meter" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true" focusable="false">`+ //nolint:gosec // digits
		`<rect class="bar-rest" width="100" height="10"/><rect class="bar-fill" width="%.1f" height="10"/></svg>`, 100*min(max(value/max(most, math.SmallestNonzeroFloat64), 0), 1)))
}
