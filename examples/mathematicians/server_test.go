package mathematicians_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/semel-dev/semel/examples/mathematicians"
)

const jsonType = "application/json"

// api is a server over real HTTP.
type api struct {
	t    *testing.T
	url  string
	path string // of the database
	log  *bytes.Buffer
	stop func()
}

func serve(t *testing.T, path string, o *mathematicians.Options) *api {
	t.Helper()
	log := new(bytes.Buffer)
	if o == nil {
		o = &mathematicians.Options{}
	}
	o.Logger = slog.New(slog.NewTextHandler(log, nil))
	server, err := mathematicians.Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	door := httptest.NewServer(server)
	stop := sync.OnceFunc(func() {
		door.Close()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return &api{t: t, url: door.URL, path: path, log: log, stop: stop}
}

func fresh(t *testing.T) *api {
	t.Helper()
	return serve(t, filepath.Join(t.TempDir(), "m.db"), nil)
}

// reply holds the relevant parts of an answer.
type reply struct {
	Status int
	Header http.Header
	Body   string
}

func (a *api) ask(method, path, media, body string, header ...string) reply {
	a.t.Helper()
	r, err := http.NewRequestWithContext(a.t.Context(), method, a.url+path, strings.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	if media != "" {
		r.Header.Set("Content-Type", media)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	got, err := client.Do(r)
	if err != nil {
		a.t.Error(err)
		return reply{}
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		a.t.Error(err)
	}
	return reply{got.StatusCode, got.Header, string(text)}
}

func (a *api) get(path string) reply { return a.ask(http.MethodGet, path, "", "") }

func (a *api) post(path, body string) reply { return a.ask(http.MethodPost, path, jsonType, body) }

func (r reply) decode(t *testing.T) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(r.Body), &m); err != nil {
		t.Fatalf("%d %s: %v", r.Status, r.Body, err)
	}
	return m
}

// newID takes an id of a kind: mathematicians or papers.
func (a *api) newID(kind string) string {
	a.t.Helper()
	got := a.get("/api/" + kind + "/new")
	id, _ := got.decode(a.t)["unique"].(string)
	if got.Status != http.StatusOK || len(id) != 36 {
		a.t.Fatalf("got %d %s", got.Status, got.Body)
	}
	return id
}

func (a *api) count(table string) (n int) {
	a.t.Helper()
	db, err := sql.Open("sqlite", a.path)
	if err != nil {
		a.t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRowContext(a.t.Context(), "SELECT count(*) FROM "+table).Scan(&n); err != nil {
		a.t.Fatal(err)
	}
	return n
}

func person(id, name string) string {
	return fmt.Sprintf(`{"unique":%q,"name":{"ids":[],"firstName":null,"lastName":%q}}`, id, name)
}

func named(name string) string { return fmt.Sprintf(`{"name":{"lastName":%q}}`, name) }

// lastName returns the name in an answer.
func (r reply) lastName(t *testing.T) any {
	t.Helper()
	name, _ := r.decode(t)["name"].(map[string]any)
	return name["lastName"]
}

// As often as the client likes, the same 201: one after the other, side by side, after a restart, after a PUT.
func TestCreateAsOftenAsYouLike(t *testing.T) {
	t.Parallel()
	a := fresh(t)
	id := a.newID("mathematicians")
	body := person(id, "Sofia Kovalévskaya")
	replies := make([]reply, 21)
	var running sync.WaitGroup
	for i := range replies[:20] {
		running.Go(func() { replies[i] = a.post("/api/mathematicians", body) })
	}
	running.Wait()
	a.ask(http.MethodPut, "/api/mathematicians/"+id, jsonType, named("Sofia Kovalevskaya"))
	a.stop()
	a = serve(t, a.path, nil)
	replies[20] = a.post("/api/mathematicians", body)
	self := "/api/mathematicians/" + id
	want := fmt.Sprintf(`{"unique":%q,"name":{"ids":[],"firstName":"","lastName":"Sofia Kovalévskaya"},"_links":{"papers":{"href":"%s/papers"},"self":{"href":%q}}}`+"\n", id, self, self)
	for i, got := range replies {
		if got.Status != http.StatusCreated || got.Header.Get("Location") != self || got.Body != want {
			t.Errorf("reply %d is %d to %q:\n%swant 201:\n%s", i, got.Status, got.Header.Get("Location"), got.Body, want)
		}
	}
	if n := a.count("mathematicians"); n != 1 {
		t.Errorf("got %d rows, want one", n)
	}
	if got := a.get(self); got.Status != http.StatusOK || got.lastName(t) != "Sofia Kovalevskaya" {
		t.Errorf("got %d %s, want what PUT said", got.Status, got.Body)
	}
}

// Another wish under an id that is used never changes anything, and is not told what is there.
func TestIDOfSomethingElse(t *testing.T) {
	t.Parallel()
	a := fresh(t)
	id, paper := a.newID("mathematicians"), a.newID("papers")
	a.post("/api/mathematicians", person(id, "Ada"))
	a.post("/api/papers", fmt.Sprintf(`{"unique":%q,"author":%q,"title":"Notes"}`, paper, id))
	for _, test := range []struct {
		path, body, want string
		status           int
	}{
		{"/api/mathematicians", person(id, "Bob"), "id-used", 422},
		{"/api/mathematicians", person(id, "ada"), "id-used", 422},
		{"/api/papers", fmt.Sprintf(`{"unique":%q,"author":%q,"title":"Other"}`, paper, id), "id-used", 422},
		{"/api/mathematicians", person(paper, "Ada"), "not-handed-out", 404},
		{"/api/papers", fmt.Sprintf(`{"unique":%q,"author":%q,"title":"Notes"}`, id, id), "not-handed-out", 404},
		{"/api/papers", fmt.Sprintf(`{"unique":%q,"author":%q,"title":"Notes"}`, a.newID("papers"), paper), "no-author", 422},
		{"/api/mathematicians", person("017f22e2-79b0-7cc3-98c4-dc0c0c07398f", "Ada"), "not-handed-out", 404},
		{"/api/mathematicians", person("8e03978e-40d5-43dd-bc93-6894a57f9324", "Ada"), "not-handed-out", 404},
	} {
		got := a.post(test.path, test.body)
		if kind := got.decode(t)["type"]; got.Status != test.status || kind != "urn:semel:mathematicians:"+test.want || strings.Contains(got.Body, "Ada") {
			t.Errorf("%s: got %d %s, want %d %s", test.body, got.Status, got.Body, test.status, test.want)
		}
	}
	if got := a.get("/api/mathematicians/" + id).lastName(t); got != "Ada" || a.count("mathematicians") != 1 || a.count("papers") != 1 {
		t.Errorf("got %v and other rows", got)
	}
}

// The object that …/new answers is filled in and sent as it is. Clients may make the ids themselves where that is allowed. A
// refusal uses nothing up: the same id is sent again.
func TestTemplateIsTheBody(t *testing.T) {
	t.Parallel()
	a := serve(t, filepath.Join(t.TempDir(), "m.db"), &mathematicians.Options{ClientIDs: true})
	const euler = "4e5f8dff-bdd8-48d9-9c10-4eab38d0fab3"
	body := `{"unique":"` + euler + `","name":{"ids":[],"firstName":"Leonhard","lastName":"Euler"},"_links":{"self":{"href":"http://elsewhere.example/"}}}`
	handedOut := strings.ReplaceAll(strings.Replace(a.get("/api/mathematicians/new").Body, "null", `"Ada"`, 1), "null", `"King"`)
	paper := strings.Replace(strings.Replace(a.get("/api/papers/new").Body, `"author":null`, `"author":"`+euler+`"`, 1), "null", `"Solutio"`, 1)
	for _, test := range []struct {
		path, body string
		status     int
	}{
		{"/api/mathematicians", body, 201},
		{"/api/mathematicians", body, 201},
		{"/api/mathematicians", handedOut, 201},
		{"/api/papers", paper, 201},
		{"/api/papers", fmt.Sprintf(`{"unique":%q,"author":%q,"title":"T"}`, euler, euler), 422},
		{"/api/mathematicians", person(euler, "Other"), 422},
		{"/api/mathematicians", person("8e03978e-40d5-43dd-bc93-6894a57f9324", ""), 400},
		{"/api/mathematicians", person("8e03978e-40d5-43dd-bc93-6894a57f9324", "Ada"), 201},
		{"/api/mathematicians", person("00000000-0000-0000-0000-000000000000", "Nil"), 400},
	} {
		if got := a.post(test.path, test.body); got.Status != test.status {
			t.Errorf("%s: got %d %s, want %d", test.body, got.Status, got.Body, test.status)
		}
	}
	self := "/api/mathematicians/" + euler
	if got := a.ask(http.MethodPut, self, jsonType, a.get(self).Body); got.Status != http.StatusOK || got.Header.Get("ETag") != `"1"` {
		t.Errorf("a representation that is put back: got %d %s %s", got.Status, got.Header.Get("ETag"), got.Body)
	}
	if a.count("mathematicians") != 3 || a.count("papers") != 1 || a.count("handouts") != 4 {
		t.Error("other rows than three mathematicians, a paper and their ids")
	}
}

func TestHostileInput(t *testing.T) {
	t.Parallel()
	a := fresh(t)
	id := a.newID("mathematicians")
	named := func(name string) string { return `{"unique":"` + id + `","name":{"lastName":"` + name + `"}}` }
	for name, test := range map[string]struct {
		media, body string
		status      int
	}{
		"no media type":     {"", named("Ada"), 415},
		"form":              {"application/x-www-form-urlencoded", "unique=" + id, 415},
		"text":              {"text/plain", named("Ada"), 415},
		"oversized":         {jsonType, named(strings.Repeat("x", 1<<16)), 413},
		"empty":             {jsonType, "", 400},
		"null":              {jsonType, "null", 400},
		"array":             {jsonType, "[]", 400},
		"deep":              {jsonType, strings.Repeat("[", 60000), 400},
		"cut off":           {jsonType, named("Ada")[:40], 400},
		"two objects":       {jsonType, named("Ada") + named("Bob"), 400},
		"unknown field":     {jsonType, `{"unique":"` + id + `","name":{"lastName":"Ada"},"id":7}`, 400},
		"id is a number":    {jsonType, `{"unique":1,"name":{"lastName":"Ada"}}`, 400},
		"no id":             {jsonType, `{"name":{"lastName":"Ada"}}`, 400},
		"name is a text":    {jsonType, `{"unique":"` + id + `","name":"Ada"}`, 400},
		"version in ids":    {jsonType, `{"unique":"` + id + `","name":{"ids":["1"],"lastName":"Ada"}}`, 400},
		"malformed id":      {jsonType, person("x", "Ada"), 400},
		"id in braces":      {jsonType, person("{"+id+"}", "Ada"), 400},
		"no name":           {jsonType, `{"unique":"` + id + `"}`, 400},
		"blank name":        {jsonType, named("  "), 400},
		"NUL":               {jsonType, named(`Ada\u0000`), 400},
		"raw NUL":           {jsonType, named("Ada\x00"), 400},
		"line break":        {jsonType, named(`Ada\nBob`), 400},
		"half a pair":       {jsonType, named(`\ud800`), 400},
		"not UTF-8":         {jsonType, named("\xff"), 400},
		"too long":          {jsonType, named(strings.Repeat("é", 101)), 400},
		"trailing blank":    {jsonType, named("Ada "), 400},
		"trailing no-break": {jsonType, named("Ada\u00a0"), 400},
	} {
		got := a.ask(http.MethodPost, "/api/mathematicians", test.media, test.body)
		if got.Status != test.status || got.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: got %d %s, want %d", name, got.Status, got.Body, test.status)
		}
	}
	if a.count("mathematicians") != 0 {
		t.Error("something was created")
	}
	for _, name := range []string{"शकुन्तला देवी", "陈景润", "👩‍🔬", `Robert'); DROP TABLE "mathematicians";--`, "<script>", strings.Repeat("é", 100)} {
		id := a.newID("mathematicians")
		got := a.post("/api/mathematicians", person(id, name))
		if again := a.get("/api/mathematicians/" + id).lastName(t); got.Status != http.StatusCreated || again != name {
			t.Errorf("%s became %v: %d", name, again, got.Status)
		}
	}
}

// PUT may be repeated; with If-Match it changes only what the caller has seen.
func TestPut(t *testing.T) {
	t.Parallel()
	a := fresh(t)
	id := a.newID("mathematicians")
	a.post("/api/mathematicians", person(id, "Ada"))
	path := "/api/mathematicians/" + id
	for i, test := range []struct {
		body, match string
		status      int
		etag        string
	}{
		{named("Ada King"), "", 200, `"2"`},
		{named("Ada King"), "", 200, `"2"`},
		{named("Ada Lovelace"), `"1"`, 412, ""},
		{named("Ada Lovelace"), `W/"2"`, 412, ""},
		{named("Ada Lovelace"), `"7", "2"`, 200, `"3"`},
		{person(id, "Countess"), "*", 200, `"4"`},
		{person("017f22e2-79b0-7cc3-98c4-dc0c0c07398f", "Bob"), "", 400, ""},
		{person(id, ""), "", 400, ""},
	} {
		var header []string
		if test.match != "" {
			header = []string{"If-Match", test.match}
		}
		if got := a.ask(http.MethodPut, path, jsonType, test.body, header...); got.Status != test.status || got.Header.Get("ETag") != test.etag {
			t.Errorf("%d: got %d %s %s, want %d %s", i, got.Status, got.Header.Get("ETag"), got.Body, test.status, test.etag)
		}
	}
	if got := a.get(path); got.Header.Get("ETag") != `"4"` || got.lastName(t) != "Countess" {
		t.Errorf("got %s %s", got.Header.Get("ETag"), got.Body)
	}
}

// Whatever is answered or logged, the rows' own numbers are not in it.
func TestInternalNumbersStayInside(t *testing.T) {
	t.Parallel()
	a := fresh(t)
	db, err := sql.Open("sqlite", a.path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	id, paper := a.newID("mathematicians"), a.newID("papers")
	const number = 918273645546
	_, err = db.ExecContext(context.WithoutCancel(t.Context()),
		"INSERT INTO mathematicians (id, unique_id, first_name, last_name, created_first_name, created_last_name) SELECT ?, unique_id, '', 'Ada', '', 'Ada' FROM handouts WHERE kind = 'mathematician'", number)
	if err != nil {
		t.Fatal(err)
	}
	told := []reply{
		a.post("/api/mathematicians", person(id, "Ada")), a.post("/api/mathematicians", person(id, "Bob")),
		a.get("/api/mathematicians"), a.get("/api/mathematicians/" + id), a.get("/api/mathematicians/" + fmt.Sprint(number)),
		a.ask(http.MethodPut, "/api/mathematicians/"+id, jsonType, named("Bob")),
		a.post("/api/papers", fmt.Sprintf(`{"unique":%q,"author":%q,"title":"T"}`, paper, id)), a.get("/api/papers/" + paper),
		a.get("/api/mathematicians/" + id + "/papers"),
	}
	if _, err := db.ExecContext(context.WithoutCancel(t.Context()), "DROP TABLE papers"); err != nil {
		t.Fatal(err)
	}
	told = append(told, a.get("/api/papers/"+paper), a.get("/api/mathematicians/"+id+"/papers"))
	if last := told[len(told)-1]; last.Status != http.StatusInternalServerError || strings.Contains(last.Body, "papers") {
		t.Errorf("got %d %s, want 500 without details", last.Status, last.Body)
	}
	if told[0].Status != http.StatusCreated {
		t.Errorf("got %d %s", told[0].Status, told[0].Body)
	}
	for i, got := range told {
		if all := got.Body + fmt.Sprint(got.Header); strings.Contains(all, fmt.Sprint(number)) {
			t.Errorf("reply %d shows the number: %s", i, all)
		}
	}
	a.stop()
	if strings.Contains(a.log.String(), fmt.Sprint(number)) || !strings.Contains(a.log.String(), "request failed") {
		t.Errorf("the log is\n%s", a.log)
	}
}
