package cli

import (
	"github.com/schollz/progressbar/v3"

	"reverie/dream"
	"reverie/evolve"
	"reverie/internal/entity"
	"reverie/internal/ingest"
	"reverie/internal/session"
)

// Bar is a progress bar on standard error, which leaves the screen when it is finished;
// where that is no terminal it is nothing. One that cannot be drawn is no reason to stop.
type Bar struct{ bar *progressbar.ProgressBar }

// NewBar draws a bar for so many units; a total of -1 is not known. It moves when it is
// told to, and never by itself: the library's own ticker looks at it without its lock.
func (con *Console) NewBar(total int64, what, unit string, more ...progressbar.Option) Bar {
	if !Terminal(con.Stderr) {
		return Bar{}
	}
	options := []progressbar.Option{progressbar.OptionSetWriter(con.Stderr), progressbar.OptionSetDescription(what),
		progressbar.OptionClearOnFinish(), progressbar.OptionSetSpinnerChangeInterval(0)}
	if unit != "" {
		options = append(options, progressbar.OptionSetItsString(unit), progressbar.OptionShowCount())
	}
	bar := progressbar.NewOptions64(total, append(options, more...)...)
	_ = bar.RenderBlank()
	return Bar{bar}
}

// Set shows that so many are done, of as many as are known by now, if any are.
func (b Bar) Set(done, of int) {
	if b.bar == nil {
		return
	}
	if of > 0 && of != b.bar.GetMax() {
		b.bar.ChangeMax(of)
	}
	_ = b.bar.Set(done)
}

// Clear takes the bar off the screen, for a line of output to stand there.
func (b Bar) Clear() {
	if b.bar != nil {
		_ = b.bar.Clear()
	}
}

// Finish takes the bar off the screen for good.
func (b Bar) Finish() {
	if b.bar != nil {
		_ = b.bar.Finish()
	}
}

// WatchEvolving shows a run's progress over so many messages, and returns what ends
// the show. So do the others.
func (con *Console) WatchEvolving(p *evolve.Pipeline, messages int) (stop func()) {
	bar := con.NewBar(int64(messages), "evolving", "messages")
	p.Progress = func(done int) { bar.Set(done, messages) }
	return bar.Finish
}

// WatchExtracting shows how many messages a run has read.
func (con *Console) WatchExtracting(p *session.Pipeline) (stop func()) {
	bar := con.NewBar(-1, "extracting", "messages")
	p.Progress = func(done int) { bar.Set(done, -1) }
	return bar.Finish
}

// WatchDreaming shows how many memories a dream has taken in.
func (con *Console) WatchDreaming(p *dream.Pipeline) (stop func()) {
	bar := con.NewBar(-1, "dreaming", "memories")
	p.Progress = func(done int) { bar.Set(done, -1) }
	return bar.Finish
}

// WatchObserving shows how many questions about people and things have been answered.
func (con *Console) WatchObserving(p *entity.Pipeline) (stop func()) {
	bar := con.NewBar(-1, "observing", "questions")
	p.Progress = bar.Set
	return bar.Finish
}

// WatchWindows shows how many windows are finished, of as many as are expected.
func (con *Console) WatchWindows(windows int) Bar {
	return con.NewBar(int64(windows), "evolving", "windows", progressbar.OptionSetPredictTime(true))
}

// ImportBar shows how much of a source has been read.
type ImportBar struct {
	Bar
	in *ingest.Input
}

// ImportBar is nothing where the size of the source is not known.
func (con *Console) ImportBar(in *ingest.Input) ImportBar {
	if in.Size == 0 || con.JSON {
		return ImportBar{}
	}
	return ImportBar{con.NewBar(in.Size, "importing", "", progressbar.OptionShowBytes(true),
		progressbar.OptionSetPredictTime(true)), in}
}

// Read shows how far it is.
func (b ImportBar) Read() {
	if b.bar != nil {
		_ = b.bar.Set64(min(b.in.BytesRead(), b.in.Size))
	}
}
