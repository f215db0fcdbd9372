package cli

import (
	"github.com/schollz/progressbar/v3"

	"reverie/internal/entity"
	"reverie/internal/ingest"
)

// Bar is a progress bar on standard error, which disappears when it is finished. It does nothing if standard error
// is no terminal. Its errors are ignored.
type Bar struct{ bar *progressbar.ProgressBar }

// NewBar draws a bar of total units, -1 if unknown. It is redrawn only by its methods: the library's own ticker
// reads it without its lock.
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

// Set shows that done of of units are done; of is 0 if unknown.
func (b Bar) Set(done, of int) {
	if b.bar == nil {
		return
	}
	if of > 0 && of != b.bar.GetMax() {
		b.bar.ChangeMax(of)
	}
	_ = b.bar.Set(done)
}

// Clear removes the bar from the screen, for a line of output.
func (b Bar) Clear() {
	if b.bar != nil {
		_ = b.bar.Clear()
	}
}

// Finish removes the bar for good.
func (b Bar) Finish() {
	if b.bar != nil {
		_ = b.bar.Finish()
	}
}

// Watch shows on a bar what a pipeline reports as its progress, until stop is called. total is -1 if unknown.
func (con *Console) Watch(progress *func(done int), total int, what, unit string) (stop func()) {
	bar := con.NewBar(int64(total), what, unit)
	*progress = func(done int) { bar.Set(done, total) }
	return bar.Finish
}

// WatchObserving shows how many questions of the impression job have been answered.
func (con *Console) WatchObserving(p *entity.Pipeline) (stop func()) {
	bar := con.NewBar(-1, "observing", "questions")
	p.Progress = bar.Set
	return bar.Finish
}

// WatchWindows shows how many of the expected windows are finished.
func (con *Console) WatchWindows(windows int) Bar {
	return con.NewBar(int64(windows), "evolving", "windows", progressbar.OptionSetPredictTime(true))
}

// ImportBar shows how much of a source has been read.
type ImportBar struct {
	Bar
	in *ingest.Input
}

// ImportBar returns a bar, which does nothing if the size of the source is unknown.
func (con *Console) ImportBar(in *ingest.Input) ImportBar {
	if in.Size == 0 || con.JSON {
		return ImportBar{}
	}
	return ImportBar{con.NewBar(in.Size, "importing", "", progressbar.OptionShowBytes(true),
		progressbar.OptionSetPredictTime(true)), in}
}

// Read shows the current progress.
func (b ImportBar) Read() {
	if b.bar != nil {
		_ = b.bar.Set64(min(b.in.BytesRead(), b.in.Size))
	}
}
