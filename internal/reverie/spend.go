package reverie

// Spend is what calls to models have cost.
type Spend struct {
	Calls        int     `db:"calls" json:"calls"`
	InputTokens  int     `db:"input_tokens" json:"input_tokens"`
	OutputTokens int     `db:"output_tokens" json:"output_tokens"`
	CostUSD      float64 `db:"cost_usd" json:"cost_usd"`
}

// Add counts one call.
func (s *Spend) Add(c Call) {
	s.Calls++
	s.InputTokens += c.InputTokens
	s.OutputTokens += c.OutputTokens
	s.CostUSD += c.CostUSD
}

// Plus is both together.
func (s Spend) Plus(o Spend) Spend {
	return Spend{Calls: s.Calls + o.Calls, InputTokens: s.InputTokens + o.InputTokens,
		OutputTokens: s.OutputTokens + o.OutputTokens, CostUSD: s.CostUSD + o.CostUSD}
}

// RunEntry is a run in a list, with what it has spent.
type RunEntry struct {
	Run
	Spend Spend `json:"spend"`
}
