package offline

import (
	"errors"
	"slices"
	"strings"

	"reverie/internal/safety"
)

// remark is one line of the answer to impression_observe: what a person says of himself
// or herself.
type remark struct {
	Subject     string       `json:"subject"`
	Kind        string       `json:"kind"`
	Reason      string       `json:"reason"`
	Confidence  float64      `json:"confidence"`
	Evidence    []citation   `json:"evidence"`
	Impressions []impression `json:"impressions,omitempty"`
	Features    []trait      `json:"features,omitempty"`
}

type impression struct {
	Text     string     `json:"text"`
	Evidence []citation `json:"evidence"`
}

type trait struct {
	Key      string     `json:"key"`
	Value    string     `json:"value"`
	Replaces string     `json:"replaces,omitempty"`
	Evidence []citation `json:"evidence"`
}

// subject is one that is to be observed.
type subject struct {
	Name  string `json:"name"`
	Kind  string `json:"kind"`
	Known struct {
		Features map[string]string `json:"features"`
	} `json:"known"`
}

// observe answers impression_observe. Nothing is taken from what people say of others.
func observe(q question) ([]remark, error) {
	var subjects []subject
	var messages []message
	if err := errors.Join(q.read("subjects", &subjects), q.read("messages", &messages)); err != nil {
		return nil, err
	}
	var out []remark
	all := readMessages(messages)
	for _, who := range subjects {
		r := remark{Subject: who.Name, Kind: who.Kind, Confidence: sureOfSelf, Reason: "said of oneself in plain words"}
		for _, s := range all {
			if s.message.Author != who.Name {
				continue
			}
			for _, c := range claims(s) {
				r.take(c, who)
			}
		}
		if len(r.Evidence) > 0 {
			out = append(out, r)
		}
	}
	return out, nil
}

// take adds a claim. The last value of a feature counts.
func (r *remark) take(c claim, who subject) {
	proof := cite([]sentence{c.sentence})
	said := c.value
	if c.Impression != "" {
		said = strings.ReplaceAll(c.Impression, "{}", c.value)
	}
	if len(proof) == 0 || safety.CheckStatement(said) != nil {
		return
	}
	if !slices.Contains(r.Evidence, proof[0]) {
		r.Evidence = append(r.Evidence, proof...)
	}
	if c.Feature == "" {
		r.Impressions = slices.DeleteFunc(r.Impressions, func(i impression) bool { return i.Text == said })
		r.Impressions = append(r.Impressions, impression{said, proof})
		return
	}
	f := trait{Key: c.Feature, Value: said, Evidence: proof}
	if old := who.Known.Features[f.Key]; old != "" && old != said {
		f.Replaces = old
	}
	r.Features = slices.DeleteFunc(r.Features, func(o trait) bool { return o.Key == f.Key })
	r.Features = append(r.Features, f)
}
