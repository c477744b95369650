package gateway_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
)

const (
	shellPage    = "<html><head></head><body></body></html>"
	shellChanged = "Mon, 02 Jan 2006 15:04:05 GMT"
)

// shellOf answers with a page that has these headers, or says that the reader has it.
func shellOf(header map[string]string) *shop {
	return &shop{page: func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "text/html")
		h.Set("Cache-Control", "public, max-age=60")
		h.Set("Expires", shellChanged)
		for name, value := range header {
			h.Set(name, value)
		}
		at, _ := http.ParseTime(h.Get("Last-Modified"))
		http.ServeContent(w, r, "", at, strings.NewReader(shellPage))
	}}
}

// TestPageGuardValidators: a page that gets the page script alone is cached as the application says, by a validator for the script and the rules.
func TestPageGuardValidators(t *testing.T) {
	t.Parallel()
	otherRules := strings.Replace(pageRules, "api/orders", "api/carts", 1)
	for name, c := range map[string]struct {
		header      map[string]string
		value, kind string // of the ETag, around the mark
		asks, by    string // the application's own validator, and the header that it comes back in
	}{
		"a strong tag":   {map[string]string{"Etag": `"v1"`}, "v1", "s", `"v1"`, "If-None-Match"},
		"a weak tag":     {map[string]string{"Etag": `W/"v,1~"`}, "v,1~", "w", `W/"v,1~"`, "If-None-Match"},
		"a date":         {map[string]string{"Last-Modified": shellChanged}, "43b940e5", "d", shellChanged, "If-Modified-Since"},
		"a tag and date": {map[string]string{"Etag": `"v1"`, "Last-Modified": shellChanged}, "v1", "s", `"v1"`, "If-None-Match"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := shellOf(c.header)
			d := openShop(t, s, pageRules, nil)
			got := d.person(t).get("/")
			tag := got.header.Get("Etag")
			if !regexp.MustCompile(`^W/"` + regexp.QuoteMeta(c.value) + `~[0-9a-f]{12}` + c.kind + `"$`).MatchString(tag) {
				t.Fatalf("the ETag is %s", tag)
			}
			kept := func(name string, h http.Header) {
				t.Helper()
				if h.Get("Etag") != tag || h.Get("Cache-Control") != "public, max-age=60" || h.Get("Expires") != shellChanged || h.Get("Last-Modified") != "" || h.Get("Accept-Ranges") != "" {
					t.Errorf("%s: got %v", name, h)
				}
			}
			kept("the page", got.header)
			for reader, header := range map[string][]string{
				"a person": {"Accept", "text/html", "If-None-Match", tag}, "with other tags": {"Accept", "text/html", "If-None-Match", `"v1", "older~0123456789abs", ` + tag},
				"a script": {"Accept", "*/*", "Range", "bytes=0-3", "If-None-Match", tag},
			} {
				got := d.send(t, http.MethodGet, "/", "", append(header, "If-Modified-Since", shellChanged)...)
				if got.status != http.StatusNotModified || got.body != "" {
					t.Errorf("%s has the page, and got %d %q", reader, got.status, got.body)
				}
				kept(reader, got.header)
				if asked := s.last().header; asked.Get(c.by) != c.asks || len(asked["If-None-Match"])+len(asked["If-Modified-Since"]) != 1 || asked.Get("Range") != "" {
					t.Errorf("%s: the application was asked with %v", reader, asked)
				}
			}
			// A reader with the page without the script, or with the script for other rules, gets the page.
			other := openShop(t, s, otherRules, nil)
			for name, header := range map[string][]string{
				"other rules": {"If-None-Match", tag}, "no gateway": {"If-None-Match", c.asks}, "a date": {"If-Modified-Since", shellChanged}, "anything": {"If-None-Match", "*"},
				"nothing": {"If-None-Match", `"", W/"", x`},
			} {
				got := other.person(t).get("/", header...)
				if got.status != http.StatusOK || !strings.Contains(got.body, "page.js") || got.header.Get("Etag") == tag {
					t.Errorf("%s: got %d, ETag %s, %q", name, got.status, got.header.Get("Etag"), got.body)
				}
			}
		})
	}
}

// TestPageGuardValidatorOfScript: the mark is of the whole element, which names the version of the script.
func TestPageGuardValidatorOfScript(t *testing.T) {
	t.Parallel()
	got := openShop(t, shellOf(map[string]string{"Etag": `"v1"`}), pageRules, nil).person(t).get("/")
	element := strings.TrimSuffix(strings.TrimPrefix(pageScript.FindString(got.body), `<script src="`), "></script>")
	element = strings.Replace(element, `" `, " ", 1) // between the address and the routes
	sum := sha256.Sum256([]byte(element))
	if want := fmt.Sprintf(`W/"v1~%xs"`, sum[:6]); got.header.Get("Etag") != want {
		t.Errorf("got the ETag %s, want %s", got.header.Get("Etag"), want)
	}
}

// TestPageGuardValidatorsKeepOut: pages that differ from reader to reader, or that have no validator, get none.
func TestPageGuardValidatorsKeepOut(t *testing.T) {
	t.Parallel()
	tagged := func(name, value string) map[string]string { return map[string]string{"Etag": `"v1"`, name: value} }
	for name, c := range map[string]struct {
		rules, cached string
		header        map[string]string
	}{
		"a nonce":      {pageRules, "private, no-cache", tagged("Content-Security-Policy", "script-src 'nonce-x'")},
		"a hash":       {pageRules, "private, no-cache", tagged("Content-Security-Policy", "script-src 'strict-dynamic' 'sha256-abc='")},
		"a form rule":  {bothRules, "private, no-cache", tagged("X-Any", "")},
		"no validator": {pageRules, "public, max-age=60", nil},
		"a broken one": {pageRules, "public, max-age=60", map[string]string{"Last-Modified": "yesterday"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := openShop(t, shellOf(c.header), c.rules, nil).person(t).get("/")
			if got.header.Get("Etag")+got.header.Get("Last-Modified") != "" || got.header.Get("Cache-Control") != c.cached || !strings.Contains(got.body, "page.js") {
				t.Errorf("got %v %s", got.header, got.body)
			}
		})
	}
}

// TestPageGuardValidatorsOfCodings: the page in another coding has the same weak ETag, and caches tell codings apart.
func TestPageGuardValidatorsOfCodings(t *testing.T) {
	t.Parallel()
	packed := coded(t, "br", shellPage)
	d := openShop(t, &shop{page: func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "text/html")
		h.Set("Content-Encoding", "br")
		h.Set("Etag", `"v1-br"`)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(packed))
	}}, pageRules, nil)
	tags := map[string]bool{}
	for _, accepts := range []string{"br", "gzip, br"} {
		got := d.person(t).get("/", "Accept-Encoding", accepts)
		tags[got.header.Get("Etag")] = true
		if got.header.Get("Vary") != "Accept-Encoding" || !strings.Contains(plain(t, got), "page.js") {
			t.Errorf("%s: got %v", accepts, got.header)
		}
		if got := d.person(t).get("/", "Accept-Encoding", accepts, "If-None-Match", got.header.Get("Etag")); got.status != http.StatusNotModified {
			t.Errorf("%s: got %d", accepts, got.status)
		}
	}
	if len(tags) != 1 {
		t.Errorf("the ETags are %v", tags)
	}
}

// TestPageGuardUnmodifiedPolicy: caches take the policy of a 304 for the page's, which has the script in it.
func TestPageGuardUnmodifiedPolicy(t *testing.T) {
	t.Parallel()
	d := openShop(t, shellOf(map[string]string{"Etag": `"v1"`, "Content-Security-Policy": "default-src 'none'"}), pageRules, nil)
	first := d.person(t).get("/", "Host", "shop.test")
	again := d.person(t).get("/", "Host", "shop.test", "If-None-Match", first.header.Get("Etag"))
	policy := again.header.Get("Content-Security-Policy")
	if again.status != http.StatusNotModified || policy != first.header.Get("Content-Security-Policy") || !strings.Contains(policy, "page.js") {
		t.Errorf("got %d, policy %q after %q", again.status, policy, first.header.Get("Content-Security-Policy"))
	}
}
