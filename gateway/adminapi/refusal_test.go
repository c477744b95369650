package adminapi_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/gateway/adminapi"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/operator"
	"github.com/semel-dev/semel/store/memstore"
	"github.com/semel-dev/semel/store/storetest"
)

const bearer = "Bearer " + aliceToken

// attacked is a world with one unknown record, which no refused call may touch.
func attacked(t *testing.T, set func(*adminapi.Options)) (*world, string) {
	t.Helper()
	w := open(t, memstore.New(nil), set)
	digest := w.settle(t, "shop", "lost", semel.StateUnknown, nil)
	t.Cleanup(func() {
		if got := w.lookup(t, digest); got != semel.StateUnknown {
			t.Errorf("the record is %v now", got)
		}
		trail, err := w.records(t).Audit(context.WithoutCancel(t.Context()), operator.AuditParams{})
		if err != nil || len(trail.Entries) > 0 {
			t.Errorf("the trail: got %v %v", trail.Entries, err)
		}
	})
	return w, "/v1/records/" + digest.String()
}

const released = `{"as":"released","reason":"x"}`

// TestOff asks an API without tokens: nothing works, and it says why.
func TestOff(t *testing.T) {
	t.Parallel()
	w, path := attacked(t, func(o *adminapi.Options) { o.Tokens = nil })
	for _, r := range []reply{
		w.send(t, http.MethodGet, "/v1/records", ""),
		w.send(t, http.MethodGet, path, ""),
		w.send(t, http.MethodDelete, path+"?reason=x", ""),
		w.send(t, http.MethodPost, path+"/resolve", released),
		w.raw(t, http.MethodGet, "/v1/audit", "", "Authorization", "Bearer "),
		w.raw(t, http.MethodGet, "/v1/audit", ""),
	} {
		refused(t, "off", r, 404, "admin-api-off", "")
	}
}

// TestTokens comes without, with wrong and with broken tokens.
func TestTokens(t *testing.T) {
	t.Parallel()
	w, path := attacked(t, func(o *adminapi.Options) { o.Failures.Burst, o.AllFailures.Burst = 1000, 1000 })
	for what, header := range map[string][]string{
		"none":           nil,
		"a cookie":       {"Cookie", "token=" + aliceToken + "; Authorization=" + aliceToken},
		"another header": {"X-Api-Key", aliceToken},
		"empty":          {"Authorization", ""},
		"no scheme":      {"Authorization", aliceToken},
		"basic":          {"Authorization", "Basic " + aliceToken},
		"wrong":          {"Authorization", "Bearer wrong-0123456789abcdef0123456789abcdef"},
		"a part":         {"Authorization", bearer[:len(bearer)-1]},
		"longer":         {"Authorization", bearer + "0"},
		"other letters":  {"Authorization", "Bearer " + strings.ToUpper(aliceToken)},
		"a name":         {"Authorization", "Bearer alice"},
		"two":            {"Authorization", bearer, "Authorization", bearer},
		"a list":         {"Authorization", bearer + ", " + bearer},
	} {
		for _, call := range [][2]string{{http.MethodGet, path}, {http.MethodDelete, path + "?reason=x"}, {http.MethodPost, path + "/resolve"}, {http.MethodGet, "/v1/nothing"}} {
			body := ""
			if call[0] == http.MethodPost {
				body = released
			}
			r := w.raw(t, call[0], call[1], body, append([]string{"Content-Type", "application/json"}, header...)...)
			name := "token-wrong"
			if len(header) == 0 || header[0] != "Authorization" {
				name = "token-missing"
			}
			refused(t, what, r, 401, name, "")
			if !strings.HasPrefix(r.header.Get("WWW-Authenticate"), "Bearer ") {
				t.Errorf("%s: WWW-Authenticate is %q", what, r.header.Get("WWW-Authenticate"))
			}
		}
	}
	if r := w.raw(t, http.MethodGet, path, "", "Authorization", "bearer "+aliceToken); r.status != 200 {
		t.Errorf("the scheme in small letters: got %d %s", r.status, r.body)
	}
	if log := w.log.String(); strings.Contains(log, "0123456789abcdef") || !strings.Contains(log, "remote=127.0.0.1") {
		t.Errorf("the log: %s", log)
	}
}

// TestReadOnly lets a token look that may only look.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	w, path := attacked(t, nil)
	const robin = "Bearer " + robinToken
	for _, look := range []string{"/v1/records", path, "/v1/audit"} {
		if r := w.raw(t, http.MethodGet, look, "", "Authorization", robin); r.status != 200 {
			t.Errorf("%s: got %d %s", look, r.status, r.body)
		}
	}
	refused(t, "cancel", w.raw(t, http.MethodDelete, path+"?reason=x", "", "Authorization", robin), 403, "read-only", "")
	refused(t, "resolve", w.raw(t, http.MethodPost, path+"/resolve", released, "Authorization", robin, "Content-Type", "application/json"), 403, "read-only", "")
}

// TestCrossSite sends what a page in a browser could send, with a token even.
func TestCrossSite(t *testing.T) {
	t.Parallel()
	w, path := attacked(t, nil)
	for _, header := range [][]string{
		{"Origin", "https://evil.example"},
		{"Origin", "null"},
		{"Origin", w.url},
		{"Origin", ""},
		{"Sec-Fetch-Site", "cross-site"},
		{"Sec-Fetch-Site", "same-site"},
		{"Sec-Fetch-Site", "CROSS-SITE"},
	} {
		what := strings.Join(header, " ")
		for _, method := range []string{http.MethodGet, http.MethodDelete, http.MethodOptions} {
			refused(t, method+" "+what, w.raw(t, method, path+"?reason=x", "", append(header, "Authorization", bearer)...), 403, "cross-site", "")
		}
		refused(t, "POST "+what, w.raw(t, http.MethodPost, path+"/resolve", released, append(header, "Authorization", bearer, "Content-Type", "application/json")...), 403, "cross-site", "")
	}
	preflight := w.raw(t, http.MethodOptions, path, "", "Origin", "https://evil.example", "Access-Control-Request-Method", "DELETE")
	refused(t, "a preflight", preflight, 403, "cross-site", "")
	// What a form can send without a preflight.
	for _, media := range []string{"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain; application/json", "application/json-patch+json", "application/json; charset=utf-16"} {
		refused(t, media, w.raw(t, http.MethodPost, path+"/resolve", released, "Authorization", bearer, "Content-Type", media), 415, "not-json", "")
	}
	refused(t, "compressed", w.raw(t, http.MethodPost, path+"/resolve", released, "Authorization", bearer, "Content-Type", "application/json", "Content-Encoding", "gzip"), 415, "not-json", "")
	for _, header := range [][]string{{"Sec-Fetch-Site", "none"}, {"Sec-Fetch-Site", "same-origin"}} {
		if r := w.raw(t, http.MethodGet, path, "", append(header, "Authorization", bearer)...); r.status != 200 {
			t.Errorf("%v: got %d %s", header, r.status, r.body)
		}
	}
}

// TestPaths asks for what is not there, by methods that are not.
func TestPaths(t *testing.T) {
	t.Parallel()
	w, path := attacked(t, nil)
	for _, gone := range []string{"/v1/", "/v1", "/", "/v1/record", "/v1/records/", path + "/", path + "/resolve/", path + "/cancel", "/v1/audit/", "/V1/records"} {
		r := w.send(t, http.MethodGet, gone, "")
		if (r.status != 404 || r.problem() != "no-such-path") && r.field() != "digest" {
			t.Errorf("%s: got %d %s", gone, r.status, r.body)
		}
	}
	for call, allow := range map[string]string{
		"POST /v1/records":            "DELETE, GET, HEAD",
		"PUT " + path:                 "DELETE, GET, HEAD",
		"PATCH " + path:               "DELETE, GET, HEAD",
		"GET " + path + "/resolve":    "POST",
		"DELETE /v1/audit":            "GET, HEAD",
		"OPTIONS /v1/audit":           "GET, HEAD",
		"get /v1/audit":               "GET, HEAD",
		"DELETE " + path + "/resolve": "POST",
	} {
		method, target, _ := strings.Cut(call, " ")
		r := w.send(t, method, target, "")
		refused(t, call, r, 405, "method-not-allowed", "")
		if got := r.header.Get("Allow"); got != allow {
			t.Errorf("%s: Allow is %q, want %q", call, got, allow)
		}
	}
}

// TestFields gives every field a value that cannot be.
func TestFields(t *testing.T) {
	t.Parallel()
	w, path := attacked(t, func(o *adminapi.Options) { o.Calls.Burst = 1000 })
	long := strings.Repeat("x", 256)
	for query, field := range map[string]string{
		"GET /v1/records?limit=0":                                     "limit",
		"GET /v1/records?limit=501":                                   "limit",
		"GET /v1/records?limit=many":                                  "limit",
		"GET /v1/records?limit=1&limit=2":                             "limit",
		"GET /v1/records?after=-1":                                    "after",
		"GET /v1/records?before=1":                                    "before",
		"GET /v1/records?state=released":                              "state",
		"GET /v1/records?sate=unknown":                                "sate",
		"GET /v1/records?reason=x":                                    "reason",
		"GET /v1/audit?limit=0":                                       "limit",
		"GET /v1/audit?after=x":                                       "after",
		"GET /v1/audit?scope=shop":                                    "scope",
		"GET " + path + "?x=1":                                        "x",
		"GET /v1/records?x=%zz":                                       "",
		"GET /v1/records/xyz":                                         "digest",
		"DELETE " + path:                                              "reason",
		"DELETE " + path + "?reason=+":                                "reason",
		"DELETE " + path + "?reason=" + long:                          "reason",
		"DELETE " + path + "?reason=a%0Ab":                            "reason",
		"DELETE " + path + "?reason=%ff":                              "reason",
		"DELETE /v1/records?reason=x":                                 "scope",
		"DELETE /v1/records?scope=shop&reason=x":                      "name",
		"DELETE /v1/records?name=lost&reason=x":                       "scope",
		"DELETE /v1/records?scope=shop&name=lost":                     "reason",
		"DELETE /v1/records?scope=semel:audit&name=x&reason=x":        "scope",
		"DELETE /v1/records?scope=shop&name=" + long + "&reason=x":    "name",
		"DELETE /v1/records?scope=shop&name=%00&reason=x":             "name",
		"GET /v1/records?scope=%00":                                   "scope",
		"GET /v1/records?scope=%ff":                                   "scope",
		"GET /v1/records?name=%ed%a0%80":                              "name",
		"DELETE /v1/records?scope=s&scope=shop&name=lost&reason=x":    "scope",
		"DELETE /v1/records?scope=shop&name=lost&reason=x&as=gone":    "as",
		"DELETE /v1/records/" + strings.Repeat("0", 63) + "?reason=x": "digest",
	} {
		method, target, _ := strings.Cut(query, " ")
		refused(t, query, w.send(t, method, target, ""), 400, "bad-request", field)
	}
	refused(t, "a body on DELETE", w.send(t, http.MethodDelete, path+"?reason=x", `{"reason":"x"}`), 400, "bad-request", "")
	for body, field := range map[string]string{
		`{"reason":"x"}`:                                                                               "as",
		`{"as":"done","reason":"x"}`:                                                                   "as",
		`{"as":"unknown","reason":"x"}`:                                                                "as",
		`{"as":"released"}`:                                                                            "reason",
		`{"as":"released","reason":" "}`:                                                               "reason",
		`{"as":"released","reason":"` + long + `"}`:                                                    "reason",
		`{"as":"released","reason":"a\nb"}`:                                                            "reason",
		`{"as":"released","reason":7}`:                                                                 "reason",
		`{"as":"released","reason":"x","status":200}`:                                                  "as",
		`{"as":"cancelled","reason":"x","body":""}`:                                                    "as",
		`{"as":"released","reason":"x","retention":"1ms"}`:                                             "retention",
		`{"as":"released","reason":"x","retention":"-1h"}`:                                             "retention",
		`{"as":"released","reason":"x","retention":"0s"}`:                                              "retention",
		`{"as":"released","reason":"x","retention":"a day"}`:                                           "retention",
		`{"as":"released","reason":"x","retention":24}`:                                                "retention",
		`{"as":"completed","reason":"x"}`:                                                              "status",
		`{"as":"completed","reason":"x","status":199,"no_body":true}`:                                  "status",
		`{"as":"completed","reason":"x","status":600,"no_body":true}`:                                  "status",
		`{"as":"completed","reason":"x","status":"200","no_body":true}`:                                "status",
		`{"as":"completed","reason":"x","result":"ch_17"}`:                                             "result", // neither a flow nor a step
		`{"as":"completed","reason":"x","status":201,"result":null}`:                                   "result",
		`{"as":"released","reason":"x","result":1}`:                                                    "as",
		`{"as":"completed","reason":"x","status":200.5,"no_body":true}`:                                "status",
		`{"as":"completed","reason":"x","status":200}`:                                                 "body",
		`{"as":"completed","reason":"x","status":200,"no_body":true,"body":"x"}`:                       "no_body",
		`{"as":"completed","reason":"x","status":200,"body":"x","body_base64":"eA=="}`:                 "body_base64",
		`{"as":"completed","reason":"x","status":200,"body_base64":"e"}`:                               "body_base64",
		`{"as":"completed","reason":"x","status":303,"location":"/a\r\nSet-Cookie: x"}`:                "location",
		`{"as":"completed","reason":"x","status":200,"body":"","content_type":"a\r\nb: c"}`:            "content_type",
		`{"as":"completed","reason":"x","status":303,"location":"/a\u0001"}`:                           "location",
		`{"as":"completed","reason":"x","status":303,"location":"/a\u007f"}`:                           "location",
		`{"as":"completed","reason":"x","status":303,"location":"/` + strings.Repeat("x", 9000) + `"}`: "location",
		`{"as":"completed","reason":"x","status":204,"body":"x"}`:                                      "body",
		`{"as":"completed","reason":"x","status":205,"body":"x"}`:                                      "body",
		`{"as":"completed","reason":"x","status":304,"body_base64":"eA=="}`:                            "body",
		`{"as":"released","reason":"x","retention":"87601h"}`:                                          "retention",
		`{"as":"released","reason":"\ud800x"}`:                                                         "",
		`{"as":"completed","reason":"x","status":200,"body":"\udc00\ud83d"}`:                           "",
		`{"as":"completed","reason":"x","status":200,"body":"\ud83d\u0041"}`:                           "",
		`{"as":"released","reason":"x","force":true}`:                                                  "force",
		`{"AS":"released","reason":"x"}`:                                                               "AS",
		`{"as":"released","reason":"x","as":"completed"}`:                                              "as",
		`{"as":"released","reason":"x"}{}`:                                                             "",
		`{"as":"released","reason":"x"`:                                                                "",
		`{"as":"released","reason":"x"]`:                                                               "",
		`["as"]`:                                                                                       "",
		`null`:                                                                                         "",
		`"as"`:                                                                                         "",
		"{\"as\":\"released\",\"reason\":\"\xff\"}":                                                    "",
		` `:  "",
		`{}`: "reason",
	} {
		refused(t, body, w.send(t, http.MethodPost, path+"/resolve", body), 400, "bad-request", field)
	}
}

// TestTooLarge sends more than is kept (promise 8).
func TestTooLarge(t *testing.T) {
	t.Parallel()
	w := openGuard(t, memstore.New(nil), &semel.Options{SweepEvery: -1, Policy: semel.Policy{MaxOutcomeBytes: 1000}}, nil)
	digest := w.settle(t, "shop", "lost", semel.StateUnknown, nil)
	path := "/v1/records/" + digest.String() + "/resolve"
	send := func(n int) reply {
		return w.send(t, http.MethodPost, path, `{"as":"completed","reason":"x","status":200,"body":"`+strings.Repeat("x", n)+`"}`)
	}
	refused(t, "a request over the bound", send(1000+16<<10), 413, "body-too-large", "")
	refused(t, "an answer over the bound", send(1001), 413, "body-too-large", "body")
	if got := len(w.entries(t)); got != 0 {
		t.Errorf("the trail has %d entries", got)
	}
	if r := send(1000); r.status != 200 {
		t.Errorf("an answer within the bound: got %d %s", r.status, r.body)
	}
}

// TestTooManyCalls bounds the calls of one token, not those of another.
func TestTooManyCalls(t *testing.T) {
	t.Parallel()
	w, path := attacked(t, func(o *adminapi.Options) { o.Calls = adminapi.Rate{Every: time.Hour, Burst: 5} })
	for i := range 5 {
		if r := w.send(t, http.MethodGet, path, ""); r.status != 200 {
			t.Fatalf("call %d: got %d", i, r.status)
		}
	}
	r := w.send(t, http.MethodDelete, path+"?reason=x", "")
	refused(t, "one more", r, 429, "too-many-calls", "")
	if r.header.Get("Retry-After") == "" {
		t.Error("Retry-After is missing")
	}
	if r := w.raw(t, http.MethodGet, path, "", "Authorization", "Bearer "+robinToken); r.status != 200 {
		t.Errorf("another token: got %d %s", r.status, r.body)
	}
}

// TestStoreUnreachable answers 503 while the store is away, and changes nothing.
func TestStoreUnreachable(t *testing.T) {
	t.Parallel()
	store := storetest.Break(memstore.New(nil), storetest.Faults{})
	w := open(t, store, nil)
	digest := w.settle(t, "shop", "lost", semel.StateUnknown, nil)
	path := "/v1/records/" + digest.String()
	store.Partition()
	for _, call := range [][3]string{
		{http.MethodGet, "/v1/records"},
		{http.MethodGet, path},
		{http.MethodGet, "/v1/audit"},
		{http.MethodDelete, path + "?reason=x"},
		{http.MethodDelete, "/v1/records?scope=shop&name=late&reason=x"},
		{http.MethodPost, path + "/resolve", released},
	} {
		r := w.send(t, call[0], call[1], call[2])
		refused(t, call[0]+" "+call[1], r, 503, "store-unavailable", "")
		if r.header.Get("Retry-After") == "" || strings.Contains(r.body, "injected") {
			t.Errorf("%s: got %v %s", call[1], r.header, r.body)
		}
	}
	store.Heal()
	if got, n := w.lookup(t, digest), len(w.entries(t)); got != semel.StateUnknown || n != 0 {
		t.Errorf("after it: the record is %v and the trail has %d entries", got, n)
	}
	get[record](t, w.send(t, http.MethodDelete, path+"?reason=x", ""))
}

// panickyStore breaks.
type panickyStore struct{ semel.Store }

func (s panickyStore) Unwrap() semel.Store { return s.Store }

func (s panickyStore) Lookup(context.Context, semel.Digest) (semel.Record, error) {
	panic(errors.New("secret of the store"))
}

// TestPanic tells the caller nothing, and the log everything.
func TestPanic(t *testing.T) {
	t.Parallel()
	w := open(t, panickyStore{memstore.New(nil)}, nil)
	digest := semel.Key{Scope: "a", Name: "b"}.Digest()
	for _, call := range [][2]string{{http.MethodGet, ""}, {http.MethodDelete, "?reason=x"}} {
		r := w.send(t, call[0], "/v1/records/"+digest.String()+call[1], "")
		refused(t, call[0], r, 500, "internal", "")
		if strings.Contains(r.body, "secret") || strings.Contains(r.body, ".go") {
			t.Errorf("the caller learns %s", r.body)
		}
	}
	if log := w.log.String(); !strings.Contains(log, "secret of the store") || !strings.Contains(log, "status=500") {
		t.Errorf("the log: %s", log)
	}
}

// TestEveryChangeIsLogged compares the log with what was done.
func TestEveryChangeIsLogged(t *testing.T) {
	t.Parallel()
	w := open(t, memstore.New(nil), nil)
	digest := w.settle(t, "shop", "lost", semel.StateUnknown, nil)
	w.send(t, http.MethodGet, "/v1/records", "")
	if log := w.log.String(); strings.Contains(log, "operator=") {
		t.Errorf("a look is logged: %s", log)
	}
	get[record](t, w.send(t, http.MethodDelete, "/v1/records?scope=shop&name=late&reason=customer+Smith", ""))
	get[record](t, w.send(t, http.MethodPost, "/v1/records/"+digest.String()+"/resolve", `{"as":"released","reason":"customer Smith"}`))
	refused(t, "again", w.send(t, http.MethodPost, "/v1/records/"+digest.String()+"/resolve", released), 404, "not-found", "")
	refused(t, "read only", w.raw(t, http.MethodDelete, "/v1/records?scope=shop&name=other&reason=x", "", "Authorization", "Bearer "+robinToken), 403, "read-only", "")
	log := w.log.String()
	for _, want := range []string{
		fmt.Sprintf("operator=alice via=\"admin API 127.0.0.1\" method=DELETE record=%.12s as=cancelled status=200", w.guard.Digest(semel.Key{Scope: "shop", Name: "late"})),
		fmt.Sprintf("operator=alice via=\"admin API 127.0.0.1\" method=POST record=%.12s as=released status=200", digest),
		fmt.Sprintf("operator=alice via=\"admin API 127.0.0.1\" method=POST record=%.12s as=released status=404", digest),
		"operator=robin",
	} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %s:\n%s", want, log)
		}
	}
	if strings.Contains(log, "Smith") || strings.Contains(log, "late") {
		t.Errorf("the log holds a reason or a key: %s", log)
	}
}

// TestNew refuses what cannot work.
func TestNew(t *testing.T) {
	t.Parallel()
	guard := newGuard(t)
	alice := token(t, "alice", aliceToken, false)
	for what, try := range map[string]func() error{
		"no guard":      func() error { _, err := adminapi.New(nil, nil); return err },
		"the same name": func() error { return check(guard, alice, token(t, "alice", robinToken, false)) },
		"the same token": func() error {
			return check(guard, alice, token(t, "robin", aliceToken, true))
		},
		"an empty token": func() error { return check(guard, adminapi.Token{Name: "alice"}) },
		"a negative rate": func() error {
			_, err := adminapi.New(guard, &adminapi.Options{Tokens: []adminapi.Token{alice}, Calls: adminapi.Rate{Burst: -1}})
			return err
		},
		"a blind store": func() error {
			blind, err := semel.New(blindStore{memstore.New(nil)}, nil)
			if err != nil {
				return nil
			}
			defer blind.Close()
			return check(blind, alice)
		},
	} {
		if err := try(); err == nil || strings.Contains(err.Error(), "0123456789") {
			t.Errorf("%s: got %v", what, err)
		}
	}
	if err := check(guard, alice); err != nil {
		t.Error(err)
	}
}

func check(guard *semel.Guard, tokens ...adminapi.Token) error {
	_, err := adminapi.New(guard, &adminapi.Options{Tokens: tokens})
	return err
}

// blindStore cannot show its records.
type blindStore struct{ semel.Store }

func newGuard(t *testing.T) *semel.Guard {
	t.Helper()
	store := memstore.New(nil)
	guard := must.Get(semel.New(store, &semel.Options{SweepEvery: -1}))
	t.Cleanup(func() { _ = errors.Join(guard.Close(), store.Close()) })
	return guard
}
