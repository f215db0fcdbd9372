package reverie

// Spend is what calls to models have cost.
type Spend struct {
	Calls        int     `db:"calls" json:"calls"`
	InputTokens  int     `db:"input_tokens" json:"input_tokens"`
	OutputTokens int     `db:"output_tokens" json:"output_tokens"`
	CostUSD      float64 `db:"cost_usd" json:"cost_usd"`
}

// RunEntry is a run in a list, with what it has spent.
type RunEntry struct {
	Run
	Spend Spend `json:"spend"`
}
