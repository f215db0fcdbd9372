package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"reverie/internal/reverie"
)

// endless is a text without an end, whose reader is interrupted.
type endless struct {
	interrupt context.CancelFunc
	left      int // reads before the interruption
}

func (e *endless) Read(p []byte) (int, error) {
	if e.left--; e.left == 0 {
		e.interrupt()
	}
	if e.left < -10 {
		return 0, errors.New("it reads on after the interruption")
	}
	return copy(p, strings.Repeat("the weather is fine\n", len(p)/20+1)), nil
}

// TestScanTextEndsWhenInterrupted: a text is scanned in blocks, and none is read after an interruption.
func TestScanTextEndsWhenInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	report := &ScanReport{Console: &Console{Stdout: io.Discard}, Rules: map[reverie.ScanFinding]int{}}
	if err := ScanText(ctx, &endless{cancel, 2}, report); !errors.Is(err, context.Canceled) {
		t.Errorf("it ends with %v", err)
	}
}

// TestScanTextAcrossBlocks: a finding at the end of a block is found once, with its place.
func TestScanTextAcrossBlocks(t *testing.T) {
	t.Parallel()
	for _, near := range []int{scanBlock - scanOverlap, scanBlock} {
		for at := near - 30; at < near+10; at += 3 {
			said := strings.Repeat("x", at) + "\npassword is hunter22x\n" + strings.Repeat("fine\n", scanOverlap)
			var out strings.Builder
			report := &ScanReport{Console: &Console{Stdout: &out, JSON: true}, Rules: map[reverie.ScanFinding]int{}}
			if err := ScanText(t.Context(), strings.NewReader(said), report); err != nil {
				t.Fatal(err)
			}
			if report.Found != 1 || !strings.Contains(out.String(), `"where":"2:13"`) {
				t.Errorf("at %d: %d findings, %s", at, report.Found, out.String())
			}
			if want := fmt.Sprint(scanOverlap+2, len(said)); fmt.Sprint(report.Texts, report.Bytes) != want {
				t.Errorf("at %d: %d texts and %d bytes, want %s", at, report.Texts, report.Bytes, want)
			}
		}
	}
}
