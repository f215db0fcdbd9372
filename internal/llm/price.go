package llm

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"reverie/internal/reverie"
)

// Price is what a model costs, in USD per million tokens.
type Price struct {
	Input, Output float64
}

// Cost of a call, in USD.
func (p Price) Cost(u Usage) float64 {
	return (float64(u.InputTokens)*p.Input + float64(u.OutputTokens)*p.Output) / 1e6
}

// ParsePrices reads entries such as "gemini-2.5-flash=0.30/2.50", input before
// output, or "text-embedding-3-small=0.02" for a model without output. A later
// entry for a model replaces an earlier one. Its errors are
// [reverie.ErrConfiguration] and name the entry.
func ParsePrices(entries []string) (map[string]Price, error) {
	prices := make(map[string]Price, len(entries))
	for _, entry := range entries {
		model, price, err := parsePrice(entry)
		if err != nil {
			return nil, fmt.Errorf("price %q: %w: %w: write model=input/output in USD per million tokens, such as "+
				"gemini-2.5-flash=0.30/2.50",
				entry, err, reverie.ErrConfiguration)
		}
		prices[model] = price
	}
	return prices, nil
}

// parsePrice splits at the last equals sign, since a model's name may hold one.
func parsePrice(entry string) (string, Price, error) {
	at := strings.LastIndexByte(entry, '=')
	if at < 0 {
		return "", Price{}, fmt.Errorf("no equals sign")
	}
	model := strings.TrimSpace(entry[:at])
	if model == "" {
		return "", Price{}, fmt.Errorf("no model")
	}
	in, out, both := strings.Cut(entry[at+1:], "/")
	var price Price
	var err error
	if price.Input, err = parseUSD(in); err != nil {
		return "", Price{}, err
	}
	if both {
		if price.Output, err = parseUSD(out); err != nil {
			return "", Price{}, err
		}
	}
	return model, price, nil
}

func parseUSD(s string) (float64, error) {
	v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || v < 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("%q is no price", s)
	}
	return v, nil
}

// priceOf finds a model's price by its name, or by the name without the path
// that gateways put before it (google/gemini-2.5-flash).
func priceOf(prices map[string]Price, model string) (Price, bool) {
	if p, ok := prices[model]; ok {
		return p, true
	}
	p, ok := prices[model[strings.LastIndexByte(model, '/')+1:]]
	return p, ok
}
