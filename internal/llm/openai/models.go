package openai

import (
	"context"
	"slices"
)

// Models asks a server for its models, whatever model the options name. For Ollama it returns embedding models
// separately; other servers do not tell.
func Models(ctx context.Context, o Options) (answer, embed []string, err error) {
	o.Model = "any"
	c, err := New(o)
	if err != nil {
		return nil, nil, err
	}
	var list struct{ Data []struct{ ID string } }
	if err := c.api.Get(ctx, "/models", &list); err != nil {
		return nil, nil, err
	}
	own := c.own()
	says := true
	for _, m := range list.Data {
		var can struct{ Capabilities []string }
		says = says && own.Post(ctx, "/api/show", map[string]string{"model": m.ID}, &can) == nil
		if slices.Contains(can.Capabilities, "embedding") {
			embed = append(embed, m.ID)
			continue
		}
		answer = append(answer, m.ID)
	}
	return answer, embed, nil
}
