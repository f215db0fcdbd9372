package onebot

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"strings"

	"reverie/internal/ingest/export"
	"reverie/internal/text"
)

// sureOfLog tells the log of a program that writes events into its lines: for sure
// where many lines have one, for in a chat somebody may show one to the others.
func sureOfLog(head []byte) int {
	if len(head) == 0 || head[0] == '{' {
		return 0
	}
	all, events := 0, 0
	for l := range bytes.Lines(head) {
		if len(bytes.TrimSpace(l)) > 0 {
			all++
		}
		start := bytes.IndexByte(l, '{')
		if start < 1 || !eventIn.Match(l) {
			continue
		}
		if len(bytes.Trim(l[:start], " \t[,")) == 0 { // of an array
			return 0
		}
		if in := bytes.TrimSpace(l[start:]); json.Valid(in) || len(in) > export.HeadSize/2 {
			events++
		}
	}
	switch {
	case events == 0:
		return 0
	case events*3 >= all:
		return 90
	}
	return 60
}

// onebotParts tells the events, whatever they stand in.
func onebotParts(src export.Source) iter.Seq2[export.JSONPart, error] {
	head := bytes.TrimSpace(src.Head)
	first, _, more := bytes.Cut(head, []byte("\n"))
	switch {
	case sureOfLog(head) > 0:
		return onebotLines(logged(src.Reader))
	case bytes.HasPrefix(head, []byte("[")):
		return onebotLines(export.JSONParts(src.Reader, "[]"))
	case more && json.Valid(first):
		return onebotLines(export.JSONLines(src.Reader))
	}
	for part, err := range export.JSONParts(bytes.NewReader(head), append(answers, "post_type", "message_id")...) {
		if err == nil && (part.Pattern == answers[0] || part.Pattern == answers[1]) {
			return export.JSONParts(src.Reader, answers...)
		}
		break
	}
	if !more { // a long line
		return onebotLines(export.JSONLines(src.Reader))
	}
	return onebotLines(export.JSONDocuments(src.Reader))
}

// eventIn finds a line of a log that has an event in it.
var eventIn = text.NewPattern(`"post_type"\s*:\s*"`)

// logged tells the events in the lines of a program's log, each behind a time and the
// like. Other lines are the program's own.
func logged(r io.Reader) iter.Seq2[export.JSONPart, error] {
	return func(yield func(export.JSONPart, error) bool) {
		for l, err := range export.Lines(r) {
			at := bytes.IndexByte(l.Text, '{')
			if err == nil && (at < 0 || !eventIn.Match(l.Text)) {
				continue
			}
			part := export.JSONPart{Place: l.Place()}
			if err == nil {
				part.Value = l.Text[at:]
				if export.EndsEarly(part.Value) {
					err = &export.Bad{Place: part.Place, Reason: "no event",
						Err: fmt.Errorf("it ends in the middle: %w", io.ErrUnexpectedEOF)}
				}
			}
			if !yield(part, err) {
				return
			}
		}
	}
}

// onebotLines tells the messages of answers that stand among events, and the events that
// somebody has wrapped.
func onebotLines(parts iter.Seq2[export.JSONPart, error]) iter.Seq2[export.JSONPart, error] {
	return func(yield func(export.JSONPart, error) bool) {
		for part, err := range parts {
			var answer struct {
				Code *json.Number    `json:"retcode"`
				Data json.RawMessage `json:"data"`
			}
			if err != nil || json.Unmarshal(part.Value, &answer) != nil || answer.Code == nil {
				part.Place = cmp.Or(part.Place, "the event")
				if inner := export.JSONFieldsOf(answer.Data); err == nil && inner.Str("post_type") != "" &&
					export.JSONFieldsOf(part.Value).Str("post_type") == "" {
					part.Value = answer.Data
				}
				if !yield(part, err) {
					return
				}
				continue
			}
			var list struct {
				Messages []json.RawMessage `json:"messages"`
			}
			if _ = json.Unmarshal(answer.Data, &list); list.Messages == nil &&
				bytes.Contains(answer.Data, []byte(`"message_id"`)) {
				list.Messages = []json.RawMessage{answer.Data}
			}
			for i, m := range list.Messages {
				if !yield(export.JSONPart{Place: strings.TrimPrefix(fmt.Sprintf("%s, message %d", part.Place, i+1), ", "),
					Value: m}, nil) {
					return
				}
			}
		}
	}
}
