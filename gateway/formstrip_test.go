package gateway_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/internal/must"
)

// openRules have routes that pass untouched and routes that do not.
const openRules = formRules + `  - name: open
    match: {methods: [POST], path: /open}
    protect: false
  - name: wish
    match: {methods: [POST], path: /wish}
    form: {field: wish}
`

// TestStripEverywhere: no application sees a token, whatever the route, and a body without one arrives as it was sent.
func TestStripEverywhere(t *testing.T) {
	t.Parallel()
	const form, text, json = "application/x-www-form-urlencoded", "text/plain", "application/json"
	token := "sm1." + strings.Repeat("A", 50)
	long := strings.Repeat("x", 100<<10)
	multi := "--b\r\nContent-Disposition: form-data; name=\"_semel\"\r\n\r\n" + token + "\r\n--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--b--\r\n"
	stripped := "--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--b--\r\n"
	for _, path := range []string{"/open", "/anything", "/invoices"} {
		for name, c := range map[string]struct {
			contentType, body, want string
			chunked, expect         bool
		}{
			"a form":                  {form, "_semel=" + token + "&a=1", "a=1", false, false},
			"in chunks":               {form, "_semel=" + token + "&a=1", "a=1", true, false},
			"in chunks, without":      {form, "a=1", "a=1", true, false},
			"after asking":            {form, "a=1&_semel=" + token, "a=1" + strings.Repeat("&", len("&_semel=")+len(token)), false, true},
			"another rule's field":    {form, "a=1&wish=" + token, "a=1", false, false},
			"nothing else":            {form, "_semel=" + token, "", false, false},
			"without":                 {form, "a=%31&&_semel=mine", "a=%31&&_semel=mine", false, false},
			"long, without":           {form, "a=" + long, "a=" + long, false, false},
			"long, with":              {form, "_semel=" + token + "&a=" + long, "a=" + long + strings.Repeat("&", len("_semel=&")+len(token)), false, false},
			"long, with it last":      {form, "a=" + long + "&_semel=" + token, "a=" + long + strings.Repeat("&", len("&_semel=")+len(token)), false, false},
			"multipart":               {"multipart/form-data; boundary=b", multi, stripped, false, false},
			"plain":                   {text, "a=1\r\n_semel=" + token + "\r\nb=2\r\n", "a=1\r\nb=2\r\n", false, false},
			"JSON stays":              {json, `{"_semel":"` + token + `"}`, `{"_semel":"` + token + `"}`, false, false},
			"a form in a coding":      {form + ";coded", "_semel=" + token, "_semel=" + token, false, false},
			"an empty form":           {form, "", "", false, false},
			"a form that is nonsense": {form, "%zz&=&&;\x00", "%zz&=&&;\x00", false, false},
		} {
			t.Run(path+"/"+name, func(t *testing.T) {
				t.Parallel()
				s := &shop{}
				d := openShop(t, s, openRules, nil)
				body := io.Reader(strings.NewReader(c.body))
				if c.chunked {
					body = struct{ io.Reader }{body}
				}
				header := []string{"Content-Type", c.contentType, "Cookie", "semel_visitor=x; a=1"}
				if strings.HasSuffix(c.contentType, ";coded") {
					header = []string{"Content-Type", form, "Content-Encoding", "br"}
				}
				if c.expect {
					header = append(header, "Expect", "100-continue")
				}
				got := d.sendContext(t.Context(), http.MethodPost, path, body, header...)
				if got.err != nil || got.status != http.StatusSeeOther && got.problem() != "form-stale" {
					t.Fatalf("got %d %s %v", got.status, got.body, got.err)
				}
				if got.problem() == "form-stale" { // such a token is refused there
					return
				}
				arrived := s.posts()[0]
				if arrived.body != c.want {
					t.Errorf("arrived: got %.200q, want %.200q", arrived.body, c.want)
				}
				if arrived.chunked != c.chunked || !c.chunked && arrived.length != int64(len(c.want)) {
					t.Errorf("got a length of %d, in chunks %v", arrived.length, arrived.chunked)
				}
				if strings.Contains(arrived.header.Get("Cookie"), "semel") {
					t.Errorf("got the cookie %q", arrived.header.Get("Cookie"))
				}
			})
		}
	}
}

// upload is a form with a file of this size in it, and the digest of the file.
func upload(t *testing.T, token string, size int) (contentType string, body []byte, digest string) {
	t.Helper()
	var out bytes.Buffer
	w := multipart.NewWriter(&out)
	if token != "" {
		noError(t, w.WriteField("_semel", token))
	}
	file := must.Get(w.CreateFormFile("file", "scan.pdf"))
	sum := sha256.New()
	piece := []byte(noise(1 << 16))
	for range size / len(piece) {
		_, _ = sum.Write(piece)
		if _, err := file.Write(piece); err != nil {
			t.Fatal(err)
		}
	}
	noError(t, w.Close())
	return w.FormDataContentType(), out.Bytes(), hex.EncodeToString(sum.Sum(nil))
}

// TestFormUpload: a form with a large file is carried out once, with another boundary too, and passes an unprotected route whole.
func TestFormUpload(t *testing.T) {
	t.Parallel()
	const size = 3 << 20
	s := &shop{post: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }}
	files := make(chan string, 4)
	app := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			s.ServeHTTP(w, r)
			return
		}
		file, _, err := r.FormFile("file")
		if err != nil {
			t.Errorf("%s: %v", r.URL, err)
			return
		}
		sum := sha256.New()
		_, _ = io.Copy(sum, file)
		files <- hex.EncodeToString(sum.Sum(nil)) + " " + strconv.Itoa(len(r.MultipartForm.Value["_semel"])) + " " + strconv.FormatBool(r.ContentLength > 0)
		w.WriteHeader(http.StatusNoContent)
	})
	d := open(t, upstream(t, app), func(c *gateway.Config) { c.Rules, c.SpoolDir = parse(t, openRules), t.TempDir() })
	p := d.person(t)
	token := p.token("/new")
	for i, want := range []string{"executed", "replayed"} {
		contentType, body, digest := upload(t, token, size)
		got := p.do(http.MethodPost, "/invoices", contentType, string(body))
		wantWord(t, "the form", got, want)
		if i == 0 {
			if diff := cmp.Diff(digest+" 0 true", receive(t, files)); diff != "" {
				t.Errorf("arrived (-want +got):\n%s", diff)
			}
		}
	}
	contentType, body, digest := upload(t, token, size)
	if got := p.do(http.MethodPost, "/open", contentType, string(body)); got.status != http.StatusNoContent {
		t.Errorf("open: got %d", got.status)
	}
	if diff := cmp.Diff(digest+" 0 true", receive(t, files)); diff != "" {
		t.Errorf("open: arrived (-want +got):\n%s", diff)
	}
}

// TestStripStreams: what comes slowly arrives as it comes on a route that is not protected, whatever its length.
func TestStripStreams(t *testing.T) {
	t.Parallel()
	first := make(chan string, 1)
	app := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		piece := make([]byte, 4)
		_, _ = io.ReadFull(r.Body, piece)
		first <- string(piece)
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusNoContent)
	})
	d := openRuled(t, app, openRules)
	for name, contentType := range map[string]string{"form": "application/x-www-form-urlencoded", "other": "application/octet-stream"} {
		in, out := io.Pipe()
		answered := make(chan reply, 1)
		go func() {
			answered <- d.sendContext(t.Context(), http.MethodPost, "/open", in, "Content-Type", contentType)
		}()
		if _, err := io.WriteString(out, "a=1&"+strings.Repeat("b=2&", 16<<10)); err != nil {
			t.Fatal(err)
		}
		if got := receive(t, first); got != "a=1&" {
			t.Errorf("%s: got %q", name, got)
		}
		_ = out.Close()
		if got := receive(t, answered); got.status != http.StatusNoContent {
			t.Errorf("%s: got %d %v", name, got.status, got.err)
		}
	}
}
