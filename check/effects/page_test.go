package effects_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/check/effects"
	"github.com/semel-dev/semel/check/wire"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/jackc/pgx/v5/pgxpool.(*Pool).backgroundHealthCheck"))
}

// same fills in no values, for a count of everything.
func same(text string) string { return text }

// of17 fills in the values of an intent.
func of17(text string) string {
	return check.Values{"n": "17", "uuid": "u-17", "key": "k-17", "var:token": "t"}.Fill(text)
}

// counts compares the result of a counter: a number, or an error with the words.
func counts(t *testing.T, o check.Counter, err error, fill func(string) string, want int64, words string) {
	t.Helper()
	var got int64
	if err == nil {
		got, err = o.Count(t.Context(), fill)
	}
	switch {
	case words == "" && err != nil:
		t.Errorf("count: %v, want %d", err, want)
	case words != "" && (err == nil || !strings.Contains(err.Error(), words)):
		t.Errorf("count: %d, %v, want an error with %q", got, err, words)
	case got != want:
		t.Errorf("count: %d, want %d", got, want)
	}
}

// site serves a page for every path.
func site(t *testing.T, pages map[string]http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		page(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func says(text string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Add(header[i], header[i+1])
		}
		_, _ = w.Write([]byte(text))
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	at := site(t, map[string]http.HandlerFunc{
		"/list":   says(`[1,2,3]`),
		"/count":  says(`7`),
		"/object": says(`{"total":12,"text":"13","part":1.5,"whole":3.0,"big":9007199254740993,"items":[1,2],"by":{"a":1},"none":null,"a/b":5}`),
		"/page":   says(`{"total":99,"items":[1,2]}`, "Link", `</page?p=1>; rel="first", </page?p=2>; rel="next"`),
		"/more":   says(`{"data":{"items":[1,2],"has_more":true},"list":{"items":[1],"next":"/more?p=2"},"last":{"items":[1,2,3],"has_more":false,"next":null}}`),
		"/html":   says(`<p>hello`, "Content-Type", "text/html"),
		"/login":  func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) },
		"/moved":  func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/sign-in", http.StatusFound) },
		"/of": func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("number") == "17" && r.Header.Get("Authorization") == "Bearer t" {
				_, _ = w.Write([]byte(`{"17":[1,2]}`))
			}
		},
		"/gzip": says("x", "Content-Encoding", "gzip"),
		"/cut": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte(`[1,2`))
		},
	})
	for _, test := range []struct {
		path, pointer string
		want          int64
		words         string
	}{
		{"/list", "", 3, ""},
		{"/count", "", 7, ""},
		{"/object", "/total", 12, ""},
		{"/object", "/text", 13, ""},
		{"/object", "/whole", 3, ""},
		{"/object", "/big", 9007199254740993, ""},
		{"/object", "/items", 2, ""},
		{"/object", "/by", 1, ""},
		{"/object", "/a~1b", 5, ""},
		{"/object", "", 0, "give a pointer into it; it has /a~1b, /big, /by"},
		{"/object", "/sum", 0, "there is nothing at /sum: the top has /a~1b, /big"},
		{"/object", "/by/x/y", 0, "there is nothing at /by/x/y: /by has /by/a"},
		{"/object", "/items/9", 0, "/items is a list of 2"},
		{"/object", "/part", 0, "not a whole number"},
		{"/object", "/none", 0, "is not a count"},
		{"/object", "total", 0, "does not begin with a slash"},
		{"/page", "/total", 99, ""},
		{"/page", "/items", 0, "the list ends at 2: the answer is one page of several"},
		{"/more", "/data/items", 0, "the list ends at 2"},
		{"/more", "/list/items", 0, "the list ends at 1"},
		{"/more", "/last/items", 3, ""},
		{"/html", "", 0, "is not JSON"},
		{"/login", "", 0, "401 Unauthorized: the count needs its own credentials"},
		{"/moved", "", 0, "302 Found to /sign-in"},
		{"/absent", "", 0, "404 Not Found instead of 200 OK"},
		{"/gzip", "", 0, "is in gzip"},
		{"/cut", "", 0, "closed before the end of the answer"},
	} {
		o, err := effects.JSON(nil, at+test.path, test.pointer, nil)
		counts(t, o, err, same, test.want, test.words)
	}
	o, err := effects.JSON(&wire.Client{MaxBody: 4}, at+"/list", "", nil)
	counts(t, o, err, same, 0, "is incomplete")
	o, err = effects.JSON(nil, at+"/of?number={{n}}", "/{{n}}", []wire.Field{{Name: "Authorization", Value: "Bearer {{var:token}}"}})
	counts(t, o, err, of17, 2, "")
	counts(t, o, err, same, 0, "{{n}} has no value here")
	if !o.PerIntent() {
		t.Error("a count by {{n}} claims to be of everything")
	}
}

func TestHeader(t *testing.T) {
	t.Parallel()
	at := site(t, map[string]http.HandlerFunc{
		"/": says(``, "X-Total-Count", "42", "Content-Range", "items 0-9/43", "X-Text", "many"),
	})
	for name, want := range map[string]int64{"x-total-count": 42, "Content-Range": 43} {
		o, err := effects.Header(nil, at+"/", name, nil)
		counts(t, o, err, same, want, "")
	}
	o, err := effects.Header(nil, at+"/", "x-text", nil)
	counts(t, o, err, same, 0, `the header X-Text: "many" is not a number`)
	o, err = effects.Header(nil, at+"/", "x-count", nil)
	counts(t, o, err, same, 0, "has no header X-Count, only Content-Length, Content-Range")
	if _, err = effects.Header(nil, at, "", nil); err == nil {
		t.Error("no name is taken")
	}
}

func TestHTML(t *testing.T) {
	t.Parallel()
	at := site(t, map[string]http.HandlerFunc{
		"/": says(`<table id=orders><thead><tr><th>n<tbody><tr data-n=16><td>a<tr data-n=17><td>b</table><ul class="x y"><li>z</ul>`,
			"Content-Type", "text/html; charset=utf-8"),
		"/json":  says(`[]`, "Content-Type", "application/json"),
		"/pages": says(`<p>`, "Content-Type", "text/html", "Link", `<?page=2>; rel=next`),
	})
	for _, test := range []struct {
		path, selector string
		want           int64
		words          string
	}{
		{"/", "#orders tbody tr", 2, ""},
		{"/", "tbody tr, ul.x > li", 3, ""},
		{"/", ".none", 0, ""},
		{"/", `tr[data-n="{{n}}"]`, 1, ""},
		{"/", "tr[", 0, "cannot be read"},
		{"/", "", 0, "cannot be read"},
		{"/json", "tr", 0, `not a page, but "application/json"`},
		{"/pages", "p", 0, "one page of several"},
	} {
		o, err := effects.HTML(nil, at+test.path, test.selector, nil)
		counts(t, o, err, of17, test.want, test.words)
	}
}

func TestPageNameHasNoSecrets(t *testing.T) {
	t.Parallel()
	o, err := effects.JSON(nil, "https://ann:s3cret@host.example/list?api_key=s3cret&state=open&key={{key}}#s3cret", "/total",
		[]wire.Field{{Name: "X-Any", Value: "s3cret"}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("/total at https://…@host.example/list?api_key=…&state=open&key={{key}}", o.Name()); diff != "" {
		t.Errorf("name (-want +got):\n%s", diff)
	}
}

func TestPageRefusesWhatItCannotAsk(t *testing.T) {
	t.Parallel()
	for at, words := range map[string]string{
		"/list":                  "write it as http://host/path",
		"ftp://host/":            "write it as http://host/path",
		"http://host/%zz":        "cannot be read",
		"http://host/?{{m}}":     "unknown place {{m}}",
		"http://host/?t={{now}}": "{{now}} alone does not identify",
	} {
		_, err := effects.JSON(nil, at, "", nil)
		counts(t, nil, err, nil, 0, words)
	}
}

func TestPageEndsWithItsContext(t *testing.T) {
	t.Parallel()
	at := site(t, map[string]http.HandlerFunc{"/": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }})
	o, err := effects.JSON(nil, at+"/", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := o.Count(ctx, same); !errors.Is(err, context.Canceled) {
		t.Errorf("count: %v, want that of the context", err)
	}
}
