package wire

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"reverie/internal/llm"
)

// fileOf is an API whose one file is written by write.
func fileOf(t *testing.T, write func(w http.ResponseWriter)) *API {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { write(w) }))
	t.Cleanup(srv.Close)
	return &API{Provider: "p", BaseURL: srv.URL, Header: http.Header{}, Client: NewClient(srv.Client(), "p", "key-1")}
}

func TestFilesMayBeLargerThanAnAnswer(t *testing.T) {
	line := []byte(strings.Repeat("x", 1<<20) + "\r\n\n")
	api, n := fileOf(t, func(w http.ResponseWriter) {
		for range MaxAnswer>>20 + 8 {
			_, _ = w.Write(line)
		}
	}), 0
	err := api.Lines(t.Context(), "/f", func(line []byte) error {
		if n++; len(line) != 1<<20 {
			return fmt.Errorf("line %d has %d bytes", n, len(line))
		}
		return nil
	})
	if err != nil || n != MaxAnswer>>20+8 {
		t.Errorf("%d lines, %v", n, err)
	}
}

func TestFilesThatCannotBeRead(t *testing.T) {
	for name, c := range map[string]struct {
		write func(w http.ResponseWriter)
		fault llm.Fault
		says  string
	}{
		"long line": {func(w http.ResponseWriter) { _, _ = io.WriteString(w, strings.Repeat("x", MaxAnswer+1)) }, llm.FaultServer, "larger than 32 MiB"},
		"broken off": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, "{}\n")
		}, llm.FaultServer, "broke off"},
		"gone": {func(w http.ResponseWriter) { http.Error(w, `{"error":"no such file, key-1"}`, http.StatusNotFound) },
			llm.FaultNotFound, "no such file, [key]"},
		"elsewhere": {func(w http.ResponseWriter) {
			w.Header().Set("Location", "http://127.0.0.1:1/x")
			w.WriteHeader(http.StatusFound)
		}, llm.FaultNotFound, "redirects to http://127.0.0.1:1/x"},
	} {
		err := fileOf(t, c.write).Lines(t.Context(), "/f", func([]byte) error { return nil })
		if llm.FaultIn(err) != c.fault || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error is %v, want %s", name, err, c.fault)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	err := fileOf(t, func(w http.ResponseWriter) { _, _ = io.WriteString(w, "1\n2\n") }).Lines(ctx, "/f", func([]byte) error {
		cancel()
		return ctx.Err()
	})
	if err != context.Canceled {
		t.Errorf("the error of the reader became %v", err)
	}
}

// A server that does not know where to go on from brings the same again.
func TestListsEnd(t *testing.T) {
	api := fileOf(t, func(w http.ResponseWriter) { _, _ = io.WriteString(w, `{"data":["a","b"],"has_more":true}`) })
	var got []string
	for item, err := range List(t.Context(), api, "/l", "after", func(s string) string { return s }) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, item)
	}
	if want := "a b a b"; strings.Join(got, " ") != want {
		t.Errorf("items are %q, want %s", got, want)
	}
}

func TestJoined(t *testing.T) {
	got, err := io.ReadAll(Joined([]string{"a", "b\n<c>"}, ",\n", func(s string) any { return map[string]string{"s": s} }))
	if want := "{\"s\":\"a\"},\n{\"s\":\"b\\n\\u003cc\\u003e\"}"; err != nil || string(got) != want {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := NewStream("", func() io.Reader { return Joined([]int{1}, "", func(int) any { return func() {} }) }); err == nil {
		t.Error("what cannot be written is no error")
	}
}

func TestRefusal(t *testing.T) {
	api := fileOf(t, nil)
	for body, want := range map[string]struct {
		status int
		fault  llm.Fault
		says   string
	}{
		`{"error":{"message":"no, key-1","code":"batch_expired"}}`:                           {0, llm.FaultTimeout, "no, [key]"},
		`{"error":{"message":"Enqueued token limit reached","code":"token_limit_exceeded"}}`: {400, llm.FaultRateLimited, "Enqueued"},
		`{"error":{"message":"m","code":503}}`:                                               {0, llm.FaultServer, "m"},
		`plain words`:                                                                        {400, llm.FaultBadRequest, "plain words"},
		``:                                                                                   {0, llm.FaultServer, ""},
	} {
		if e := api.Refusal(want.status, []byte(body)); e.Provider != "p" || e.Fault != want.fault || !strings.Contains(e.Err.Error(), want.says) {
			t.Errorf("%s: %+v", body, e)
		}
	}
}

// TestListEnds: a list ends where the server says so, and else where a page has nothing new.
func TestListEnds(t *testing.T) {
	for answer, want := range map[string]int{`{"data":[{"id":"a"}],"has_more":false}`: 1, `{"data":[{"id":"a"}],"has_more":true}`: 2,
		`{"data":[{"id":"a"}]}`: 2} {
		asked, found := 0, 0
		api := fileOf(t, func(w http.ResponseWriter) {
			asked++
			_, _ = io.WriteString(w, answer)
		})
		for _, err := range List(t.Context(), api, "/list", "after", func(v struct{ ID string }) string { return v.ID }) {
			if err != nil {
				t.Fatal(err)
			}
			found++
		}
		if asked != want || found < 1 {
			t.Errorf("%s: %d requests, %d found", answer, asked, found)
		}
	}
}
