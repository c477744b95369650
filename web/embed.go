// Package web holds Semel's scripts for browsers, built from web/src: guard.js guards the forms of a page, page.js the
// requests of an application; the others are for pages that send them themselves. docs/browser.md says what they promise.
//
// The built scripts are part of the repository, so that a Go program embeds them without Node. scripts/test rebuilds and
// compares them.
package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed dist/*.js
var files embed.FS

// Asset is one script.
type Asset struct {
	// Content is the caller's own copy.
	Content []byte
	// SHA256 is the digest of Content.
	SHA256 [32]byte
}

// Version names the content in an address: the start of its digest, in 16 hexadecimal digits.
func (a Asset) Version() string { return hex.EncodeToString(a.SHA256[:8]) }

// File returns a script by its name, such as "guard.js". It is safe for concurrent use.
func File(name string) (Asset, bool) {
	content, err := files.ReadFile(path.Join("dist", path.Base(name)))
	if err != nil || strings.Contains(name, "/") {
		return Asset{}, false
	}
	return Asset{Content: content, SHA256: sha256.Sum256(content)}, true
}

// Handler serves every script at /NAME to GET and HEAD. An address with ?v= and the [Asset.Version] may be kept for
// ever; every other one is asked for again, and answered with 304 while its content is the same. Scripts that import
// each other do so without ?v=. Anything else is 404, or 405.
func Handler() http.Handler { return http.HandlerFunc(serve) }

func serve(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/")
	asset, ok := File(name)
	if !ok {
		http.NotFound(w, r)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	header := w.Header()
	header.Set("Content-Type", "text/javascript; charset=utf-8")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("ETag", `"`+hex.EncodeToString(asset.SHA256[:16])+`"`)
	header.Set("Cache-Control", "no-cache")
	if r.URL.Query().Get("v") == asset.Version() {
		header.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(asset.Content))
}
