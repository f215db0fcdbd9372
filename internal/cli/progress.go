package cli

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
)

// progress tells how far a long job is: a bar on a terminal, else a line every
// 30 s.
type progress struct {
	out   io.Writer
	total int
	now   func() time.Time
	began time.Time
	bar   *progressbar.ProgressBar // nil without a terminal
	stop  func()

	mu    sync.Mutex
	done  int
	ended bool
}

// NewBar is a bar on standard error, which leaves the screen when it is finished. A
// total of -1 is not known. It moves when it is told to, and never by itself: the
// library's own ticker looks at the bar without its lock.
func (con *Console) NewBar(total int64, what string, more ...progressbar.Option) *progressbar.ProgressBar {
	return progressbar.NewOptions64(total, append([]progressbar.Option{progressbar.OptionSetWriter(con.Stderr), progressbar.OptionSetDescription(what),
		progressbar.OptionClearOnFinish(), progressbar.OptionSetSpinnerChangeInterval(0)}, more...)...)
}

// progressEvery is how often a line is written where there is no terminal.
const progressEvery = 30 * time.Second

// NewProgress begins to tell of total windows.
func (con *Console) NewProgress(total int) *progress {
	p := &progress{out: con.Stderr, total: total, now: con.Now, began: con.Now(), stop: func() {}}
	if Terminal(con.Stderr) {
		p.bar = con.NewBar(int64(total), "evolving", progressbar.OptionSetItsString("windows"), progressbar.OptionShowCount(), progressbar.OptionSetPredictTime(true))
		_ = p.bar.RenderBlank() // a bar that cannot be drawn is no reason to stop, here and below
		return p
	}
	tick, stop := con.Tick(progressEvery)
	done := make(chan struct{})
	var gone sync.WaitGroup
	gone.Go(func() {
		for {
			select {
			case <-tick:
				p.line()
			case <-done:
				return
			}
		}
	})
	p.stop = func() {
		stop()
		close(done)
		gone.Wait()
	}
	return p
}

// Add counts a finished window.
func (p *progress) Add() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	if p.bar != nil {
		_ = p.bar.Set(min(p.done, p.total))
	}
}

// Clear takes the bar off the screen, for a line of output to stand there.
func (p *progress) Clear() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}

// line says how far it is, and how long the rest will take at this pace.
func (p *progress) line() {
	p.mu.Lock()
	defer p.mu.Unlock()
	left := "the time left is not known yet"
	if took := p.now().Sub(p.began); p.done > 0 && took > 0 {
		left = "about " + (took * time.Duration(max(p.total-p.done, 0)) / time.Duration(p.done)).Round(time.Second).String() + " left"
	}
	fmt.Fprintf(p.out, "reverie: %d of %d windows, %s\n", p.done, p.total, left)
}

// End stops telling; the second time it does nothing.
func (p *progress) End() {
	p.mu.Lock()
	ended := p.ended
	p.ended = true
	p.mu.Unlock()
	if ended {
		return
	}
	p.stop()
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}

// Ticker ticks until it is stopped.
func Ticker(every time.Duration) (<-chan time.Time, func()) {
	t := time.NewTicker(every)
	return t.C, t.Stop
}
