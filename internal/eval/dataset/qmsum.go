package dataset

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"reverie/internal/reverie"
)

// qmSum is a meeting of QMSum.
type qmSum struct {
	General  []qmSumQuery `json:"general_query_list"`
	Specific []qmSumQuery `json:"specific_query_list"`
	Turns    []struct {
		Speaker string `json:"speaker"`
		Content string `json:"content"`
	} `json:"meeting_transcripts"`
}

type qmSumQuery struct {
	Query  string    `json:"query"`
	Answer string    `json:"answer"`
	Spans  [][]plain `json:"relevant_text_span"` // first and last turn, from 0
}

// meetingDay is the assumed day of meetings: QMSum has no dates.
var meetingDay = time.Date(2020, 1, 6, 9, 0, 0, 0, time.UTC)

func readQMSum(dir string) (list []Conversation, err error) {
	found, err := find(dir, "QMSum's meetings", "*.jsonl", "jsonl/*.jsonl", "ALL/jsonl/*.jsonl", "data/ALL/jsonl/*.jsonl")
	if err != nil {
		return nil, err
	}
	return list, each(found, func(file string, no int, raw qmSum) error {
		if err := need("the meeting", "meeting_transcripts", raw.Turns, "specific_query_list", append(raw.Specific, raw.General...)); err != nil {
			return err
		}
		part := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
		c := Conversation{ID: fmt.Sprintf("%s-%d", part, no)}
		for n, t := range raw.Turns {
			if err := need(fmt.Sprintf("turn %d", n), "speaker", t.Speaker); err != nil {
				return err
			}
			c.Messages = append(c.Messages, reverie.Message{ID: strconv.Itoa(n), Author: t.Speaker, Text: t.Content,
				SentAt: meetingDay.Add(time.Duration(n) * turnGap)})
		}
		known := idsOf(c.Messages)
		for kind, queries := range [][]qmSumQuery{raw.Specific, raw.General} {
			for n, query := range queries {
				name := []string{"specific", "general"}[kind]
				of := fmt.Sprintf("%s query %d", name, n+1)
				q := Question{ID: fmt.Sprintf("%s-%s-%d", c.ID, name, n+1), Kind: name, Text: query.Query, Gold: query.Answer}
				for _, span := range query.Spans {
					first, last, ok := bounds(span)
					if !ok {
						return fmt.Errorf("%s: relevant_text_span %v is not a first and a last turn", of, span)
					}
					for turn := first; turn <= last; turn++ {
						q.cite(known, strconv.Itoa(turn))
					}
				}
				if err := need(of, "query", q.Text); err != nil {
					return err
				}
				c.Questions = append(c.Questions, q)
			}
		}
		list = append(list, c)
		return nil
	})
}

// mostTurns bounds a span, in case of a mistake in the data.
const mostTurns = 100_000

func bounds(span []plain) (first, last int, ok bool) {
	if len(span) != 2 {
		return 0, 0, false
	}
	first, err := strconv.Atoi(string(span[0]))
	last, err2 := strconv.Atoi(string(span[1]))
	return first, last, err == nil && err2 == nil && 0 <= first && last-first < mostTurns
}
