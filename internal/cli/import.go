package cli

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"reverie/internal/ingest"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// ImportShown is the part of an import's or pull's arguments that its report needs.
type ImportShown struct {
	Dry                 bool
	Formats, PassedOver []string
	Ahead               any // the next steps, and their cost; nil: none
}

// PrintChats shows the result of an import.
func (con *Console) PrintChats(o ImportShown, res ingest.Result, failed error) error {
	o.Formats = slices.Compact(slices.Sorted(slices.Values(o.Formats)))
	if con.JSON {
		return con.WriteJSON(report{Success: failed == nil && res.Bad == 0, DryRun: o.Dry,
			Formats: append([]string{}, o.Formats...), Result: res, PassedOver: o.PassedOver, Ahead: o.Ahead})
	}
	if len(o.Formats) == 0 {
		return nil // the error contains everything
	}
	page := struct {
		ImportShown
		ingest.Result
		One                 *ingest.ChatResult // nil: there are several, or none
		WhyFiltered, WhyBad string
	}{o, res, nil, reasons(res.Filtered), reasons(res.BadBy)}
	if len(res.Groups) == 1 {
		page.One = res.Groups[0]
	}
	if err := con.Page("chats", page); err != nil {
		return err
	}
	if n := len(o.PassedOver); n > 0 {
		fmt.Fprintf(con.Stderr, "%s passed over; no chat of its own is known in: %s\n", Plural(n, "file"),
			fewNames(o.PassedOver, 5))
	}
	return nil
}

// filtered returns the number of filtered messages, for any reason.
func filtered(by map[reverie.Filter]int) (sum int) {
	for _, n := range by {
		sum += n
	}
	return sum
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// reasons lists counts, largest first.
func reasons[R ~string](by map[R]int) string {
	names := slices.SortedFunc(maps.Keys(by), func(a, b R) int {
		return cmp.Or(by[b]-by[a], cmp.Compare(a, b))
	})
	return strings.Join(text.Each(names, func(n R) string { return fmt.Sprintf("%d %s", by[n], Visible(string(n))) }), ", ")
}

// fewNames lists the first of many names.
func fewNames(names []string, most int) string {
	rest := ""
	if n := len(names) - most; n > 0 {
		names, rest = names[:most], fmt.Sprintf(" and %d more", n)
	}
	return Visible(strings.Join(names, ", ")) + rest
}

// report is the result of an import or a pull as JSON.
type report struct {
	Success bool     `json:"success"`
	DryRun  bool     `json:"dry_run,omitempty"`
	Source  string   `json:"source,omitempty"` // of a pull
	Formats []string `json:"formats,omitzero"` // of an import
	ingest.Result
	PassedOver []string `json:"passed_over,omitempty"`
	Ahead      any      `json:"ahead,omitempty"`
	Failed     any      `json:"failed,omitempty"`
}

// PrintPulled shows the result of a pull.
func (con *Console) PrintPulled(o ImportShown, source string, res ingest.Result, whole bool, failed any) error {
	if !con.JSON {
		o.Formats = []string{source}
		return con.PrintChats(o, res, nil)
	}
	return con.WriteJSON(report{Success: whole && res.Bad == 0, DryRun: o.Dry, Source: source, Result: res,
		Ahead: o.Ahead, Failed: failed})
}
