package main

import (
	"github.com/schollz/progressbar/v3"

	"reverie/internal/ingest"
)

// importBar shows on a terminal how much of a source has been read, and nothing anywhere
// else. One that cannot be drawn is no reason to stop.
type importBar struct {
	in  *ingest.Input
	bar *progressbar.ProgressBar // nil without a terminal
}

func (con *console) importBar(in *ingest.Input, asJSON bool) importBar {
	if in.Size == 0 || !terminal(con.stderr) || asJSON {
		return importBar{}
	}
	bar := con.newBar(in.Size, "importing", progressbar.OptionShowBytes(true), progressbar.OptionSetPredictTime(true))
	_ = bar.RenderBlank()
	return importBar{in, bar}
}

// read shows how far it is.
func (b importBar) read() {
	if b.bar != nil {
		_ = b.bar.Set64(min(b.in.BytesRead(), b.in.Size))
	}
}

// clear takes the bar off the screen, for a line to stand there.
func (b importBar) clear() {
	if b.bar != nil {
		_ = b.bar.Clear()
	}
}

func (b importBar) finish() {
	if b.bar != nil {
		_ = b.bar.Finish()
	}
}
