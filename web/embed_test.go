package web_test

import (
	"crypto/sha256"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/web"
)

func TestFile(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"guard.js", "page.js", "semel.js"} {
		asset, ok := web.File(name)
		if !ok || len(asset.Content) == 0 {
			t.Errorf("%s: there: %v, %d bytes", name, ok, len(asset.Content))
		}
		if got, want := asset.SHA256, sha256.Sum256(asset.Content); got != want {
			t.Errorf("%s: digest %x, want %x", name, got, want)
		}
	}
	if _, ok := web.File("no.js"); ok {
		t.Error("a script that is not there was found")
	}
}

func TestHandler(t *testing.T) {
	t.Parallel()
	guard, _ := web.File("guard.js")
	const kept, asked = "public, max-age=31536000, immutable", "no-cache"
	for name, test := range map[string]struct {
		method, target string
		status         int
		cache          string
	}{
		"plain":           {http.MethodGet, "/guard.js", http.StatusOK, asked},
		"versioned":       {http.MethodGet, "/guard.js?v=" + guard.Version(), http.StatusOK, kept},
		"another version": {http.MethodGet, "/guard.js?v=0123456789abcdef", http.StatusOK, asked},
		"head":            {http.MethodHead, "/guard.js", http.StatusOK, asked},
		"post":            {http.MethodPost, "/guard.js", http.StatusMethodNotAllowed, ""},
		"unknown":         {http.MethodGet, "/no.js", http.StatusNotFound, ""},
		"outside":         {http.MethodGet, "/../embed.go", http.StatusNotFound, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			recorder := httptest.NewRecorder()
			web.Handler().ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), test.method, test.target, nil))
			got := recorder.Result()
			if diff := cmp.Diff(got.StatusCode, test.status); diff != "" {
				t.Errorf("status (-got +want):\n%s", diff)
			}
			if diff := cmp.Diff(got.Header.Get("Cache-Control"), test.cache); diff != "" {
				t.Errorf("Cache-Control (-got +want):\n%s", diff)
			}
			if test.status != http.StatusOK {
				return
			}
			if diff := cmp.Diff(got.Header.Get("Content-Type"), "text/javascript; charset=utf-8"); diff != "" {
				t.Errorf("Content-Type (-got +want):\n%s", diff)
			}
			if got.Header.Get("X-Content-Type-Options") != "nosniff" {
				t.Error("a browser may guess the type")
			}
			if test.method == http.MethodGet && recorder.Body.String() != string(guard.Content) {
				t.Error("the body is not the script")
			}
		})
	}
}

func TestHandlerNotModified(t *testing.T) {
	t.Parallel()
	first := httptest.NewRecorder()
	web.Handler().ServeHTTP(first, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/guard.js", nil))
	again := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/guard.js", nil)
	again.Header.Set("If-None-Match", first.Header().Get("ETag"))
	second := httptest.NewRecorder()
	web.Handler().ServeHTTP(second, again)
	if diff := cmp.Diff(second.Code, http.StatusNotModified); diff != "" {
		t.Errorf("status (-got +want):\n%s", diff)
	}
}
