package web

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"mime"
	"net/http"
	"path"
)

//go:embed assets
var assetFiles embed.FS

const assetsPath = "/ui/assets/"

// asset is a file that pages load.
type asset struct {
	url  string // changes with what is in it
	kind string
	body []byte
}

func readAssets() map[string]asset {
	entries, err := assetFiles.ReadDir("assets")
	if err != nil {
		panic(err) // they are compiled in
	}
	found := map[string]asset{}
	for _, e := range entries {
		body, err := assetFiles.ReadFile("assets/" + e.Name())
		if err != nil {
			panic(err)
		}
		sum := sha256.Sum256(body)
		found[e.Name()] = asset{url: assetsPath + hex.EncodeToString(sum[:6]) + "/" + e.Name(),
			kind: mime.TypeByExtension(path.Ext(e.Name())), body: body}
	}
	return found
}

// serveAsset answers with an asset. Its address has its hash, so that it may be kept.
func (s *site) serveAsset(w http.ResponseWriter, r *http.Request) {
	a, found := s.assets[r.PathValue("name")]
	if !found || a.url != r.URL.Path {
		s.nowhere(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", a.kind)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	_, _ = w.Write(a.body) // a client that is gone needs no answer
}
