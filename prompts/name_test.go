package prompts

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"reverie/internal/remote"
)

// TestNamesAreEscaped asks for a prompt whose name would lead elsewhere.
func TestNamesAreEscaped(t *testing.T) {
	var asked string
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) { asked = req.RequestURI }))
	defer srv.Close()
	server, err := remote.New(srv.URL+"/langfuse/", remote.Options{MaxBytes: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := new(Langfuse).get(t.Context(), server, "../a b/梦?label=x#y%"); err != nil {
		t.Fatal(err)
	}
	if want := "/langfuse/api/public/v2/prompts/..%2Fa%20b%2F%E6%A2%A6%3Flabel=x%23y%25?label=production"; asked != want {
		t.Errorf("asked for\n%s, want\n%s", asked, want)
	}
}
