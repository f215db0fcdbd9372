package main

import (
	"errors"
	"fmt"

	"reverie/internal/cli"
	"reverie/internal/ingest"
	"reverie/internal/reverie"
)

// add adds what came of a chat.
func (p *puller) add(res ingest.Result) {
	t := &p.result
	t.Records, t.New, t.Known, t.Erased, t.Bad = t.Records+res.Records, t.New+res.New, t.Known+res.Known,
		t.Erased+res.Erased, t.Bad+res.Bad
	if t.Filtered == nil {
		t.Filtered, t.BadBy = map[reverie.Filter]int{}, map[string]int{}
	}
	for f, n := range res.Filtered {
		t.Filtered[f] += n
	}
	for why, n := range res.BadBy {
		t.BadBy[why] += n
	}
	t.Groups = append(t.Groups, res.Groups...)
}

// end says what came of all chats.
func (p *puller) end(asked int) error {
	if n := p.shown - shownBad; n > 0 {
		fmt.Fprintf(p.Stderr, "and %s more\n", cli.Plural(n, "bad record"))
	}
	if err := p.print(); err != nil {
		return err
	}
	var all error
	for _, f := range p.failed {
		all = errors.Join(all, f.err)
	}
	switch {
	case len(p.failed) == asked && asked > 0:
		return all
	case len(p.failed) > 0:
		return &codeError{exitPartial, fmt.Errorf("%w\n%d of %s failed; pull again: what has come is kept", all,
			len(p.failed), cli.Plural(asked, "chat"))}
	case p.result.Bad > 0:
		return &codeError{exitError, fmt.Errorf("%s not stored; the next pull does not ask for them again, --all does",
			cli.Plural(p.result.Bad, "bad record"))}
	}
	return nil
}

func (p *puller) print() error {
	if p.asJSON {
		return cli.PrintJSON(p.Stdout, struct {
			Success bool   `json:"success"`
			DryRun  bool   `json:"dry_run,omitempty"`
			Source  string `json:"source"`
			ingest.Result
			Failed []pullFailure `json:"failed,omitempty"`
		}{len(p.failed) == 0 && p.result.Bad == 0, p.DryRun, p.Server.Source(), p.result, p.failed})
	}
	return p.PrintChats(cli.ImportShown{Dry: p.DryRun, Formats: []string{p.Server.Source()}}, p.result, nil)
}
