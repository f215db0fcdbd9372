package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
)

// API is one provider's HTTP API, for the adapters that need no SDK.
type API struct {
	Provider string
	BaseURL  string       // checked by [Endpoint]; routes are appended to it
	Header   http.Header  // sent with every request: the key, the API's version
	Client   *http.Client // made by [NewClient]
}

// Post sends in as JSON and reads the answer into out, in one request. Its errors are
// [*llm.Error].
func (a *API) Post(ctx context.Context, route string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return Fail(ctx, a.Provider, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.BaseURL+route, bytes.NewReader(body))
	if err != nil {
		return Fail(ctx, a.Provider, err)
	}
	req.Header = a.Header.Clone()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "reverie")
	resp, err := a.Client.Do(req)
	if err != nil {
		return Fail(ctx, a.Provider, err)
	}
	defer resp.Body.Close()
	if err := decode(resp, out); err != nil {
		return Fail(ctx, a.Provider, err)
	}
	return nil
}

// decode reads an answer. A field of an unexpected type stays empty, as compatible servers
// write a few of them otherwise: what an adapter needs, it looks for.
func decode(resp *http.Response, out any) error {
	err := json.NewDecoder(resp.Body).Decode(out)
	var mistyped *json.UnmarshalTypeError
	if errors.As(err, &mistyped) {
		return nil
	}
	return err
}
