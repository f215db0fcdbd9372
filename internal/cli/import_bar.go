package cli

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

func (con *Console) ImportBar(in *ingest.Input, asJSON bool) importBar {
	if in.Size == 0 || !Terminal(con.Stderr) || asJSON {
		return importBar{}
	}
	bar := con.NewBar(in.Size, "importing", progressbar.OptionShowBytes(true), progressbar.OptionSetPredictTime(true))
	_ = bar.RenderBlank()
	return importBar{in, bar}
}

// Read shows how far it is.
func (b importBar) Read() {
	if b.bar != nil {
		_ = b.bar.Set64(min(b.in.BytesRead(), b.in.Size))
	}
}

// Clear takes the bar off the screen, for a line to stand there.
func (b importBar) Clear() {
	if b.bar != nil {
		_ = b.bar.Clear()
	}
}

func (b importBar) Finish() {
	if b.bar != nil {
		_ = b.bar.Finish()
	}
}
