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
	Spans  [][]plain `json:"relevant_text_span"` // first and last turn, from 0 on
}

// meetingDay is when meetings are held, for QMSum does not say.
var meetingDay = time.Date(2020, 1, 6, 9, 0, 0, 0, time.UTC)

func readQMSum(f *files) (list []Conversation) {
	found := f.find("QMSum's meetings", "*.jsonl", "jsonl/*.jsonl", "ALL/jsonl/*.jsonl", "data/ALL/jsonl/*.jsonl")
	for _, file := range found {
		part := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
		for i, r := range f.records(file) {
			raw, ok := decode[qmSum](f, r)
			of := fmt.Sprintf("meeting %d", i+1)
			if !ok || !f.need(r, of, "meeting_transcripts", len(raw.Turns) > 0) ||
				!f.need(r, of, "specific_query_list", len(raw.Specific)+len(raw.General) > 0) {
				continue
			}
			c := Conversation{ID: fmt.Sprintf("%s-%d", part, i+1)}
			for n, t := range raw.Turns {
				if !f.need(r, fmt.Sprintf("%s, turn %d", of, n), "speaker", t.Speaker != "") {
					continue
				}
				c.Messages = append(c.Messages, reverie.Message{ID: strconv.Itoa(n), Author: t.Speaker, Text: t.Content,
					SentAt: meetingDay.Add(time.Duration(n) * turnGap)})
			}
			known := idsOf(c.Messages)
			for kind, queries := range [][]qmSumQuery{raw.Specific, raw.General} {
				for n, query := range queries {
					name := []string{"specific", "general"}[kind]
					q := Question{ID: fmt.Sprintf("%s-%s-%d", c.ID, name, n+1), Kind: name, Text: query.Query, Gold: query.Answer}
					for _, span := range query.Spans {
						first, last, ok := bounds(span)
						if !ok {
							f.wrong(r.at(0), "%s, %s query %d: relevant_text_span %v is not a first and a last turn", of, name, n+1, span)
							continue
						}
						for turn := first; turn <= last; turn++ {
							q.cite(known, strconv.Itoa(turn))
						}
					}
					if f.need(r, fmt.Sprintf("%s, %s query %d", of, name, n+1), "query", q.Text != "") {
						c.Questions = append(c.Questions, q)
					}
				}
			}
			list = append(list, c)
		}
	}
	return list
}

// mostTurns bounds a span, lest a mistaken one be counted out.
const mostTurns = 100_000

func bounds(span []plain) (first, last int, ok bool) {
	if len(span) != 2 {
		return 0, 0, false
	}
	first, err := strconv.Atoi(string(span[0]))
	last, err2 := strconv.Atoi(string(span[1]))
	return first, last, err == nil && err2 == nil && 0 <= first && last-first < mostTurns
}
