package web

import (
	"reverie/internal/api"
	"reverie/internal/recall"
	"reverie/internal/reverie"
)

// recallData is how the context of a query comes about.
type recallData struct {
	Query, Session string
	MaxTokens      int
	Recalled       *reverie.Recalled // nil: nothing was asked
	Offered        int
	Best           float64 // score
}

func (s *site) recallPage(v *visit) (any, error) {
	g, err := v.inGroup("recall")
	if err != nil {
		return nil, err
	}
	d := recallData{Query: v.FormValue("q"), Session: v.FormValue("session")}
	if v.FormValue("tokens") != "" {
		if d.MaxTokens, err = v.number("tokens", 0); err != nil {
			return nil, err
		}
	}
	if d.Query == "" {
		return d, nil
	}
	r, err := s.Explain(v.Context(), recall.ContextRequest{GroupID: g.ID, SessionID: d.Session, Query: d.Query,
		MaxTokens: d.MaxTokens})
	if err != nil {
		return nil, err
	}
	for _, c := range r.Candidates {
		d.Best = max(d.Best, c.Score)
		if c.Fate == recall.FateOffered {
			d.Offered++
		}
	}
	d.Recalled = &r
	return d, nil
}

// MaxQuery is how long a query may be, in characters.
func (recallData) MaxQuery() int { return api.MaxQuery }
