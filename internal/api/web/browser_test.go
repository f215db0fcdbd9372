package web_test

import (
	"context"
	_ "embed"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"reverie/internal/api/server"
	"reverie/internal/api/web"
	"reverie/internal/reverie"
)

//go:embed testdata/audit.js
var auditScript string

// Widths of a telephone and of a desk.
const (
	narrow = 390
	wide   = 1300
)

// patience is how long a guest may stay, on a machine that is busy with much else; none
// waits for it.
const patience = 180 * time.Second

// browser is a Chromium that ends with its test, however that ends.
type browser struct {
	testing.TB
	url string // of the server
	ctx context.Context
	dir string // of the screenshots
	all bool   // of them are wanted, for people to look at
}

// open starts a browser for the page of a sample, as the server has it.
func (s *sample) open(t testing.TB) *browser {
	t.Helper()
	srv, err := server.New(server.Options{Service: s.service, Web: web.New(s.service, web.Options{}), Log: s.service.Log})
	check(t, err)
	handler := httptest.NewServer(srv.Handler())
	t.Cleanup(handler.Close)
	flags := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.DisableGPU, chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true), chromedp.UserDataDir(t.TempDir()))
	ctx, stop := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), flags...)
	t.Cleanup(stop)
	ctx, closeBrowser := chromedp.NewContext(ctx)
	t.Cleanup(closeBrowser)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start Chromium (scripts/setup.sh --browser installs it): %v", err)
	}
	b := &browser{TB: t, url: handler.URL, ctx: ctx, dir: os.Getenv("REVERIE_SCREENSHOTS")}
	if b.all = b.dir != ""; !b.all {
		b.dir = t.ArtifactDir()
	}
	token(t, s.service, "", reverie.ScopeRead) // from now on everybody has to log in
	return b
}

// guest is somebody with cookies of his or her own.
type guest struct {
	testing.TB
	*browser
	ctx context.Context

	blank map[int64]int // bytes of a picture of nothing, by its width

	mu       sync.Mutex
	problems []string // that the browser has told of
}

// visit is a guest on a blank page.
func (b *browser) visit(t testing.TB) *guest {
	t.Helper()
	v := &guest{TB: t, browser: b}
	ctx, done := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(done)
	check(t, chromedp.Listen(ctx, func(event any) {
		v.mu.Lock()
		defer v.mu.Unlock()
		switch e := event.(type) {
		case *log.EventEntryAdded: // what the policy forbids, and what could not be loaded
			if e.Entry.Level != log.EntryLevelVerbose {
				v.problems = append(v.problems, fmt.Sprintf("%s %s: %s", e.Entry.Level, e.Entry.URL, e.Entry.Text))
			}
		case *runtime.EventExceptionThrown:
			v.problems = append(v.problems, e.ExceptionDetails.Text)
		case *runtime.EventConsoleAPICalled:
			v.problems = append(v.problems, fmt.Sprintf("the page writes to the console: %s", e.Type))
		}
	}))
	_, err := chromedp.Call(ctx, log.Enable, cdp.Empty{})
	check(t, err)
	ctx, cancel := context.WithTimeout(ctx, patience)
	t.Cleanup(cancel)
	v.ctx = ctx
	return v
}

// step is something that is done in the browser.
type step = chromedp.Action[chromedp.Void]

// call sends the browser a command of its protocol.
func call[P, R any](v *guest, command cdp.Command[P, R], params P) R {
	v.Helper()
	out, err := chromedp.Call(v.ctx, command, params)
	check(v, err)
	return out
}

// takeProblems returns what the browser has told of since it was asked last.
func (v *guest) takeProblems() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	list := v.problems
	v.problems = nil
	return list
}

func (v *guest) run(steps ...step) {
	v.Helper()
	if err := chromedp.Do(v.ctx, steps...); err != nil {
		v.Fatal(err)
	}
}

// moves does something that leads to another page, and waits for that.
func (v *guest) moves(steps ...step) {
	v.Helper()
	if _, err := chromedp.RunResponse(v.ctx, steps...); err != nil {
		v.Fatal(err)
	}
}

// goes opens an address of the server.
func (v *guest) goes(path string) {
	v.Helper()
	v.moves(chromedp.Navigate(v.url + path))
}

// learnsBlank takes pictures of a blank page, to know such from others.
func (v *guest) learnsBlank() {
	v.Helper()
	v.blank = map[int64]int{}
	for _, width := range []int64{narrow, wide} {
		v.look(width, "light")
		v.blank[width] = len(v.picture())
	}
}

// look is the page in a width and a colour scheme.
func (v *guest) look(width int64, scheme string) {
	v.Helper()
	call(v, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: 800, DeviceScaleFactor: 1})
	call(v, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
}

// eval runs a script in the page.
func eval[V any](v *guest, script string) V {
	v.Helper()
	out, err := chromedp.Run(v.ctx, chromedp.Evaluate[V](script))
	check(v, err)
	return out
}

func (v *guest) h1() string {
	v.Helper()
	return eval[string](v, `document.querySelector("h1").innerText`)
}

// text is what can be read on the page.
func (v *guest) text() string {
	v.Helper()
	return eval[string](v, `document.querySelector("main").innerText`)
}

// says checks what stands on the page.
func (v *guest) says(want string) {
	v.Helper()
	if got := v.text(); !strings.Contains(got, want) {
		v.Errorf("%s does not say %q:\n%s", eval[string](v, "location.href"), want, got)
	}
}

// tabTo presses Tab until what has the focus fits: its visible text, its label, or its id.
func (v *guest) tabTo(want string) {
	v.Helper()
	var passed []string
	for range 120 {
		v.run(chromedp.KeyEvent("\t"))
		at := eval[string](v, `(el => el === document.body ? "" : [el.innerText || "", el.id, el.labels ? [...el.labels].map(l => l.innerText).join() : ""].join("\n"))(document.activeElement)`)
		passed = append(passed, strings.ReplaceAll(strings.TrimSpace(at), "\n", " "))
		for line := range strings.Lines(at) {
			if strings.TrimSpace(line) == want {
				return
			}
		}
	}
	v.Fatalf("no way leads to %q by Tab: %q", want, passed)
}

// types writes into what has the focus.
func (v *guest) types(text string) { v.Helper(); v.run(chromedp.KeyEvent(text)) }

// enters presses Enter, which leads to another page.
func (v *guest) enters() { v.Helper(); v.moves(chromedp.KeyEvent("\r")) }

// logsIn has the guest log in with a token that is made for it.
func (v *guest) logsIn(s *sample, scope reverie.Scope) {
	v.Helper()
	v.goes("/ui/login")
	v.run(chromedp.SendKeys("#token", token(v, s.service, "", scope)))
	v.moves(chromedp.Submit("#token"))
}

// picture is the page as it is seen, as PNG.
func (v *guest) picture() []byte {
	v.Helper()
	return call(v, page.CaptureScreenshot, page.CaptureScreenshotParams{OptimizeForSpeed: new(!v.all)}).Data
}

// shoots keeps a picture of the page as it is seen, and checks that something is on it.
func (v *guest) shoots(name string, width int64) {
	v.Helper()
	shot := v.picture()
	check(v, os.MkdirAll(v.dir, 0o755))
	check(v, os.WriteFile(filepath.Join(v.dir, name+".png"), shot, 0o644))
	if blank := v.blank[width]; len(shot) < blank*3/2 {
		v.Errorf("%s: a picture of %d bytes has nothing on it: one of a blank page has %d", name, len(shot), blank)
	}
}
