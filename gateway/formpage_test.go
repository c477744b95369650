package gateway_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/internal/must"
)

// coded returns a page in a content coding.
func coded(t *testing.T, coding, page string) []byte {
	t.Helper()
	var out bytes.Buffer
	var w io.WriteCloser
	switch coding {
	case "gzip":
		w = gzip.NewWriter(&out)
	case "br":
		w = brotli.NewWriter(&out)
	case "zstd":
		encoder := must.Get(zstd.NewWriter(&out))
		w = encoder
	default:
		return []byte(page)
	}
	_, err := io.WriteString(w, page)
	if err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// plain returns an answer's page without content coding.
func plain(t *testing.T, got reply) string {
	t.Helper()
	switch coding := got.header.Get("Content-Encoding"); coding {
	case "":
		return got.body
	case "gzip":
		r := must.Get(gzip.NewReader(strings.NewReader(got.body)))
		return string(must.Get(io.ReadAll(r)))
	default:
		t.Fatalf("content coding %q", coding)
		return ""
	}
}

// TestPageCodings: a page in a content coding gets its token, and is sent in one that the reader takes.
func TestPageCodings(t *testing.T) {
	t.Parallel()
	long := strings.Replace(formPage, "</body>", strings.Repeat("<p>0123456789 text &amp; more</p>\n", 8000)+"</body>", 1)
	for _, coding := range []string{"", "gzip", "br", "zstd"} {
		for _, accepts := range []string{"", "gzip, br, zstd", "br;q=1.0, gzip;q=0"} {
			for name, page := range map[string]string{"short": formPage, "long": long} {
				t.Run(coding+"/"+accepts+"/"+name, func(t *testing.T) {
					t.Parallel()
					body := coded(t, coding, page)
					s := &shop{page: func(w http.ResponseWriter, _ *http.Request) {
						w.Header().Set("Content-Type", "text/html")
						if coding != "" {
							w.Header().Set("Content-Encoding", coding)
						}
						w.Header().Set("Content-Length", strconv.Itoa(len(body)))
						_, _ = w.Write(body)
					}}
					var header []string
					if accepts != "" {
						header = []string{"Accept-Encoding", accepts}
					}
					got := openShop(t, s, "", nil).person(t).get("/", header...)
					if got.header.Get("Content-Encoding") == "gzip" && !strings.HasPrefix(accepts, "gzip") {
						t.Errorf("gzip for who takes %q", accepts)
					}
					text := plain(t, got)
					if len(tokensIn(text)) != 1 {
						t.Fatalf("got %d tokens: %.300s", len(tokensIn(text)), text)
					}
					bare := tokenIn.ReplaceAllString(text, "")
					i, j := strings.Index(bare, `<script src="/.well-known`), strings.Index(bare, "</script>")
					if bare = bare[:i] + bare[j+len("</script>"):]; bare != page {
						t.Errorf("the rest of the page is another one: %.300s", bare)
					}
				})
			}
		}
	}
}

// TestPageUntouched: an answer that is not a page for a browser, or may not be changed, and
// what gets nothing, arrives byte for byte and with its header.
func TestPageUntouched(t *testing.T) {
	t.Parallel()
	html := http.Header{"Content-Type": {"text/html"}, "Etag": {`"v1"`}, "Last-Modified": {"Mon, 02 Jan 2006 15:04:05 GMT"}, "Cache-Control": {"max-age=60"}}
	with := func(pairs ...string) http.Header {
		h := html.Clone()
		for i := 0; i < len(pairs); i += 2 {
			h.Set(pairs[i], pairs[i+1])
		}
		return h
	}
	for name, c := range map[string]struct {
		header http.Header
		status int
		body   string
		result string // in the metric
	}{
		"JSON":                  {with("Content-Type", "application/json"), 200, `{"a":"<form method=post action=/invoices>"}`, ""},
		"attachment":            {with("Content-Disposition", `Attachment; filename="a.html"`), 200, formPage, ""},
		"no-transform":          {with("Cache-Control", "public, No-Transform"), 200, formPage, "no-transform"},
		"UTF-16":                {with("Content-Type", "text/html; charset=UTF-16LE"), 200, formPage, "charset"},
		"UTF-16 by its mark":    {html, 200, "\xFF\xFE" + formPage, "charset"},
		"unknown coding":        {with("Content-Encoding", "dcb"), 200, formPage, "encoding"},
		"two codings":           {with("Content-Encoding", "gzip, br"), 200, formPage, "encoding"},
		"not what it says":      {with("Content-Encoding", "gzip"), 200, formPage, "encoding"},
		"a page without forms":  {html, 200, "<html><body>nothing</body></html>", "no-forms"},
		"forms that lead away":  {html, 404, `<form method=post action="https://elsewhere.test/invoices"></form><form action=/invoices></form><form method=dialog action=/invoices></form>`, "no-forms"},
		"another path's form":   {html, 200, `<form method=post action=/search></form>`, "unmatched"},
		"markup in a script":    {html, 200, `<script>"<form method=post action=/invoices>"</script><!-- <form method=post action=/invoices> --><textarea><form method=post action=/invoices></textarea>`, "no-forms"},
		"too large":             {html, 200, formPage + strings.Repeat(" ", 8<<10), "too-large"},
		"cut off":               {with("Content-Encoding", "gzip"), 200, string(coded(t, "gzip", formPage)[:60]), "encoding"},
		"coded and without any": {with("Content-Encoding", "gzip"), 200, string(coded(t, "gzip", "<html>nothing</html>")), "no-forms"},
		"part of a page":        {with("Content-Range", "bytes 0-9/99"), 206, formPage, ""},
		"an empty page":         {html, 200, "", "no-forms"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &shop{page: func(w http.ResponseWriter, _ *http.Request) {
				maps.Copy(w.Header(), c.header)
				w.Header().Set("Content-Length", strconv.Itoa(len(c.body)))
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			}}
			d := openShop(t, s, "", func(c *gateway.Config) { c.MaxPageBytes = 8 << 10 })
			got := d.person(t).get("/")
			if got.status != c.status || got.body != c.body {
				t.Errorf("got %d %q, want %d %q", got.status, got.body, c.status, c.body)
			}
			for name, values := range c.header {
				if diff := cmp.Diff(values, got.header[name]); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
			if got.header.Get("Set-Cookie") != "" {
				t.Errorf("it sets a cookie: %q", got.header["Set-Cookie"])
			}
			if want := fmt.Sprintf(`semel_pages_total{result="%s"} 1`, c.result); c.result != "" && !strings.Contains(d.metrics(t), want) {
				t.Errorf("the metrics lack %s", want)
			}
		})
	}
}

// TestPageHeader: the header of a page with tokens is about that page, and no cache
// gives it to another reader, or again (promise 5).
func TestPageHeader(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ cacheControl, want string }{
		"shared": {"public, s-maxage=600", "private, no-cache"},
		"none":   {"", "private, no-cache"},
		"strict": {"no-store, must-revalidate", "private, no-store"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &shop{page: func(w http.ResponseWriter, r *http.Request) {
				h := w.Header()
				h.Set("Content-Type", "text/html")
				for _, name := range []string{"Etag", "Last-Modified", "Content-Md5", "Digest", "Repr-Digest", "Accept-Ranges", "Expires"} {
					h.Set(name, "x")
				}
				if c.cacheControl != "" {
					h.Set("Cache-Control", c.cacheControl)
				}
				if r.URL.Path == "/stream" {
					http.NewResponseController(w).Flush()
				} else {
					h.Set("Content-Length", strconv.Itoa(len(formPage)))
				}
				if r.Method != http.MethodHead {
					_, _ = io.WriteString(w, formPage)
				}
			}}
			p := openShop(t, s, "", nil).person(t)
			for _, path := range []string{"/", "/stream"} {
				got := p.get(path)
				if diff := cmp.Diff([]string{c.want}, got.header["Cache-Control"]); diff != "" {
					t.Errorf("%s: Cache-Control (-want +got):\n%s", path, diff)
				}
				for _, name := range []string{"Etag", "Last-Modified", "Content-Md5", "Digest", "Repr-Digest", "Accept-Ranges", "Expires"} {
					if got.header.Get(name) != "" {
						t.Errorf("%s: it still has %s", path, name)
					}
				}
				if n := got.header.Get("Content-Length"); n != "" && n != strconv.Itoa(len(got.body)) {
					t.Errorf("%s: Content-Length is %s of %d", path, n, len(got.body))
				}
			}
			head := p.do(http.MethodHead, "/", "", "")
			if head.header.Get("Content-Length") != "" || head.header.Get("Etag") != "" {
				t.Errorf("HEAD: got %v", head.header)
			}
		})
	}
}

// TestPageIsFresh: a browser's request for a page asks for all of it as it is now,
// in a coding that can be read, and the application sees no cookie of ours.
func TestPageIsFresh(t *testing.T) {
	t.Parallel()
	s := &shop{}
	p := openShop(t, s, "", nil).person(t)
	conditions := []string{
		"If-None-Match", `"v1"`, "If-Modified-Since", "Mon, 02 Jan 2006 15:04:05 GMT", "Range", "bytes=0-9", "If-Range", `"v1"`,
		"Accept-Encoding", "dcb, br;q=0.5, deflate, gzip", "Cookie", "a=1; semel_outcome=x",
	}
	p.get("/new", conditions...)
	p.get("/new?_semel=sm1.abc&x=%201", conditions...)
	got := s.last()
	for _, name := range []string{"If-None-Match", "If-Modified-Since", "Range", "If-Range"} {
		if got.header.Get(name) != "" {
			t.Errorf("the application got %s", name)
		}
	}
	if got.header.Get("Accept-Encoding") != "br;q=0.5, gzip" || got.header.Get("Cookie") != "a=1" || got.uri != "/new?x=%201" {
		t.Errorf("the application got %s %v", got.uri, got.header)
	}
	if p.cookie("semel_visitor") == "" {
		t.Error("got no visitor cookie")
	}
	script := p.door.send(t, http.MethodGet, "/app.js", "", "Accept", "*/*", "Sec-Fetch-Mode", "no-cors", "If-None-Match", `"v1"`)
	if got := s.last(); script.err != nil || got.header.Get("If-None-Match") != `"v1"` {
		t.Errorf("a script: the application got %v", got.header)
	}
}

// TestPageStreams: a page that its application flushes arrives piece by piece, and one that breaks off breaks off.
func TestPageStreams(t *testing.T) {
	t.Parallel()
	for _, coding := range []string{"", "gzip"} {
		t.Run(coding, func(t *testing.T) {
			t.Parallel()
			next, broken := make(chan struct{}), make(chan struct{})
			s := &shop{page: func(w http.ResponseWriter, r *http.Request) {
				wait := func(until <-chan struct{}) {
					select {
					case <-until:
					case <-r.Context().Done():
					}
				}
				w.Header().Set("Content-Type", "text/html")
				to, flush := io.Writer(w), func() {}
				if coding != "" {
					w.Header().Set("Content-Encoding", coding)
					z := gzip.NewWriter(w)
					to, flush = z, func() { _ = z.Flush() }
				}
				_, _ = io.WriteString(to, `<html><body><form method=post action=/invoices>`)
				flush()
				_ = http.NewResponseController(w).Flush()
				wait(next)
				_, _ = io.WriteString(to, `<p>the middle`)
				flush()
				_ = http.NewResponseController(w).Flush()
				wait(broken)
				panic(http.ErrAbortHandler)
			}}
			d := openShop(t, s, "", nil)
			res := d.stream(t, http.MethodGet, "/", http.NoBody, "Accept", "text/html", "Accept-Encoding", coding)
			from := io.Reader(res.Body)
			if coding != "" {
				from = must.Get(gzip.NewReader(res.Body))
			}
			readUntil(t, from, "data-semel-token>")
			close(next)
			readUntil(t, from, "the middle")
			close(broken)
			if _, err := io.ReadAll(from); err == nil {
				t.Error("the page that broke off ends well")
			}
		})
	}
}

// readUntil reads up to a text.
func readUntil(t *testing.T, from io.Reader, text string) {
	t.Helper()
	var got []byte
	for !bytes.Contains(got, []byte(text)) {
		piece := make([]byte, 512)
		n, err := from.Read(piece)
		got = append(got, piece[:n]...)
		if err != nil {
			t.Fatalf("before %q: %v in %q", text, err, got)
		}
	}
}

// TestPageCutOff: a coded page whose end is missing is cut off when it has begun.
func TestPageCutOff(t *testing.T) {
	t.Parallel()
	body := coded(t, "gzip", formPage+noise(400<<10))
	s := &shop{page: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Content-Length", strconv.Itoa(len(body)-9))
		_, _ = w.Write(body[:len(body)-9])
	}}
	got := openShop(t, s, "", nil).send(t, http.MethodGet, "/", "", "Accept", "text/html", "Accept-Encoding", "gzip")
	if got.err == nil {
		t.Errorf("got %d bytes, and no error", len(got.body))
	}
}

// noise is text that no coding makes short.
func noise(n int) string {
	var b strings.Builder
	for x := uint32(1); b.Len() < n; x = x*1664525 + 1013904223 {
		fmt.Fprintf(&b, "%08x", x)
	}
	return b.String()
}

// TestPageUnreliable: an upstream that breaks off inside of a page breaks it off for the browser too, with what there was of it.
func TestPageUnreliable(t *testing.T) {
	t.Parallel()
	app := rawUpstream(t, func(conn net.Conn, br *bufio.Reader) {
		if _, err := readRequest(br); err == nil {
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1000\r\n\r\n"+formPage[:60])
		}
	})
	d := openRuled(t, app, formRules)
	got := d.send(t, http.MethodGet, "/", "", "Accept", "text/html")
	if got.err == nil || !strings.HasPrefix(got.body, formPage[:40]) {
		t.Errorf("got %q, %v", got.body, got.err)
	}
}

// TestPageBomb: a page that is short in its content coding and long without passes
// in constant memory, and the window of a coding is bounded.
func TestPageBomb(t *testing.T) { //nolint:paralleltest // it measures the memory of the whole process
	const size = 32 << 20
	bomb := coded(t, "gzip", strings.Repeat("\x00", size))
	var wide bytes.Buffer
	encoder := must.Get(zstd.NewWriter(&wide, zstd.WithWindowSize(64<<20), zstd.WithSingleSegment(false)))
	if _, err := io.WriteString(encoder, formPage); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(encoder.Flush(), encoder.Close()); err != nil { // flushed, the frame names the whole window
		t.Fatal(err)
	}
	s := &shop{page: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Content-Encoding", strings.TrimPrefix(r.URL.Path, "/"))
		_, _ = w.Write(map[string][]byte{"/gzip": bomb, "/zstd": wide.Bytes()}[r.URL.Path])
	}}
	d := openShop(t, s, "", nil)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	res := d.stream(t, http.MethodGet, "/gzip", http.NoBody)
	n, err := io.Copy(io.Discard, res.Body)
	if n != size || err != nil {
		t.Errorf("got %d bytes, %v", n, err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 24<<20 {
		t.Errorf("it holds %d bytes", grown)
	}
	got := d.send(t, http.MethodGet, "/zstd", "", "Accept-Encoding", "zstd")
	if got.body != wide.String() || got.header.Get("Content-Encoding") != "zstd" {
		t.Errorf("a window that is too wide: got %d, %d bytes in %q, %v", got.status, len(got.body), got.header.Get("Content-Encoding"), got.err)
	}
}

// TestPageBombInOnePiece: a few bytes of brotli can be a page of any length; what is held back of it stays short.
func TestPageBombInOnePiece(t *testing.T) { //nolint:paralleltest // it measures the memory of the process.
	const size = 24 << 20
	var bomb bytes.Buffer
	z := brotli.NewWriterLevel(&bomb, 5)
	_, err := io.CopyN(z, zeros{}, size)
	if err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	held := make(chan struct{})
	s := &shop{page: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Content-Encoding", "br")
		_, _ = w.Write(bomb.Bytes())
		close(held)
	}}
	d := openShop(t, s, "", nil)
	runtime.GC()
	var before, during runtime.MemStats
	runtime.ReadMemStats(&before)
	res := d.stream(t, http.MethodGet, "/", http.NoBody)
	receive(t, held)
	var most uint64
	n := int64(0)
	for {
		m, err := io.CopyN(io.Discard, res.Body, 8<<20)
		n += m
		runtime.ReadMemStats(&during)
		most = max(most, during.HeapSys)
		if err != nil {
			break
		}
	}
	if n != size {
		t.Errorf("got %d bytes of %d", n, size)
	}
	if most > before.HeapSys+20<<20 { // held back it would be twice the page
		t.Errorf("the heap grew by %d bytes", most-before.HeapSys)
	}
}

// zeros is an endless text.
type zeros struct{}

// Read implements io.Reader.
func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
