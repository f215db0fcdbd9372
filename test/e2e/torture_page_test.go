//go:build torture

package e2e

import (
	"bufio"
	"context"
	"fmt"
	"html"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	"reverie/internal/fault"
	"reverie/internal/reverie"
)

// openPage is a page that somebody has open while servers come and go. It does with its stream what page.js does.
type openPage struct {
	name  string
	live  string          // address of its stream; "" while the page is not loaded
	shown map[string]bool // runs that it says are under way
	stale bool            // it says that it is to be loaded again
}

var (
	livePattern = regexp.MustCompile(`data-live="([^"]+)"`)
	runPattern  = regexp.MustCompile(`data-run="([^"]+)"`)
)

// load opens the page, unless it is open.
func (p *openPage) load(ctx context.Context, base string) error {
	if p.live != "" {
		return nil
	}
	body, err := reach(ctx, base+"/ui/")
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	text, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	at := livePattern.FindSubmatch(text)
	if at == nil {
		return fmt.Errorf("the page has no stream: %s", text)
	}
	p.live = html.UnescapeString(string(at[1]))
	p.show(string(text))
	return nil
}

// show is what the page says from now on. A run that it does not show any more has ended.
func (p *openPage) show(text string) {
	before := p.shown
	p.shown = map[string]bool{}
	for _, run := range runPattern.FindAllStringSubmatch(text, -1) {
		p.shown[run[1]] = true
	}
	for id := range before {
		p.stale = p.stale || !p.shown[id]
	}
}

// follow shows what the stream of a server tells, until it ends or what is shown is enough.
func (p *openPage) follow(ctx context.Context, base string, enough func() bool) error {
	body, err := reach(ctx, base+p.live)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	event, told := "", ""
	lines := bufio.NewScanner(body)
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ": ")
		switch {
		case field == "event":
			event = value
		case strings.HasPrefix(field, "data"):
			told += value + "\n"
		case field == "" && event == "ended":
			p.stale, event, told = true, "", ""
		case field == "" && told != "":
			p.show(told)
			if event, told = "", ""; enough() {
				return nil
			}
		}
	}
	return io.ErrUnexpectedEOF
}

func reach(ctx context.Context, address string) (io.ReadCloser, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, err
	}
	r, err := http.DefaultClient.Do(q)
	if err == nil && r.StatusCode != http.StatusOK {
		_ = r.Body.Close()
		return nil, statusError(r.StatusCode)
	}
	if err != nil {
		return nil, err
	}
	return r.Body, nil
}

// watchedPages are two pages that are open while a night runs in a server that is killed: one whose stream is open all
// the time, and one whose browser had closed it. Both come back, and know then what is under way and that the night has ended.
func watchedPages() *play {
	var mu sync.Mutex
	all := map[string][]*openPage{}
	of := func(s *stage) []*openPage {
		mu.Lock()
		defer mu.Unlock()
		if all[s.url] == nil {
			all[s.url] = []*openPage{{name: "was watched"}, {name: "was hidden"}}
		}
		return all[s.url]
	}
	return &play{name: "pages that are open", past: func(s *stage) {
		eventfulPast(s)
		s.set("REVERIE_EVOLVE_MAX_MESSAGES=50") // one chunk, whose end is the night's
	}, args: invocation("serve", "--listen", "127.0.0.1:0"), clients: func(s *stage, base string) error {
		ctx, cancel := context.WithTimeout(s.t.Context(), patience)
		defer cancel()
		pages := of(s)
		back := func(enough func(p *openPage) bool) error {
			for _, p := range pages {
				if err := p.follow(ctx, base, func() bool { return enough(p) }); err != nil {
					return err
				}
			}
			return nil
		}
		for _, p := range pages {
			if err := p.load(ctx, base); err != nil {
				return err
			}
		}
		running := s.rows(`select run_id from runs where status = 'running' order by 1`)
		if err := back(func(p *openPage) bool {
			if shown := slices.Sorted(maps.Keys(p.shown)); !slices.Equal(shown, running) {
				s.t.Errorf("the page that %s shows %q as under way, and that is %q", p.name, shown, running)
			}
			return true
		}); err != nil {
			return err
		}
		watching, away := context.WithCancel(ctx)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = pages[0].follow(watching, base, func() bool { return false }) // it ends with the server, or when the night is over
		}()
		err := s.evolvesBy(ctx, base)
		away()
		<-ended
		if err != nil {
			return err
		}
		return back(func(p *openPage) bool { return len(p.shown) == 0 }) // that is said within a second
	}, ends: func(s *stage) []string {
		rows := s.state("template")
		for _, p := range of(s) {
			if !p.stale {
				rows = append(rows, fmt.Sprintf("the page that %s does not know that a night has ended", p.name))
			}
		}
		return rows
	}, control: control{fault.Ended, "apply chunk of run to group: committed", "telling a page what ended while its stream was away", "the page that was hidden does not know that a night has ended"}}
}

// evolvesBy has a server evolve the group, and waits until that is done.
func (s *stage) evolvesBy(ctx context.Context, base string) error {
	_, err := ask[struct{}](ctx, http.MethodPost, base+"/memory/evolve/template", http.NoBody)
	for err == nil {
		var runs reverie.RunsReply
		if runs, err = ask[reverie.RunsReply](ctx, http.MethodGet, base+"/v1/runs?group_id=template&status=running", http.NoBody); err == nil && len(runs.Runs) == 0 {
			return nil
		}
	}
	return err
}
