package check_test

import (
	"bytes"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/check/wire"
	"github.com/semel-dev/semel/semelhttp"
)

const formType = "application/x-www-form-urlencoded"

// TestKeysElsewhere puts keys in other places than the header of the draft.
func TestKeysElsewhere(t *testing.T) {
	t.Parallel()
	queryKey := semelhttp.KeySource(fromQuery{})
	for name, given := range map[string]struct {
		source      semelhttp.KeySource
		place       check.KeyPlace
		contentType string
		body        string
		mustRun     string
	}{
		"JSON":  {semelhttp.FromJSONPointer("/request_id"), check.KeyPlace{In: "json", Name: "/request_id"}, "application/json", `{"n":{{n}}}`, "KEY-02 KEY-06 KEY-10 MIS-01 MIS-08"},
		"form":  {semelhttp.FromFormField("request_id"), check.KeyPlace{In: "form", Name: "request_id"}, formType, `n={{n}}&item=gears`, "KEY-02 KEY-06 KEY-10 MIS-01"},
		"query": {queryKey, check.KeyPlace{In: "query", Name: "request_id"}, "application/json", `{"n":{{n}}}`, "KEY-02 KEY-06 KEY-10 MIS-01 MIS-05"},
		"fixed JSON": {
			semelhttp.FromJSONPointer("/request_id"),
			check.KeyPlace{In: "json", Name: "/request_id"},
			"application/json",
			`{"item":"gears"}`, "BASIC-07 KEY-02 KEY-06 KEY-10 MIS-01 MIS-08",
		},
		"fixed form": {semelhttp.FromFormField("request_id"), check.KeyPlace{In: "form", Name: "request_id"}, formType, `item=gears`, "BASIC-07 MIS-01 MIS-11"},
		"template": {
			semelhttp.FromJSONPointer("/id"),
			check.KeyPlace{In: "template"},
			"application/json",
			`{"id":"{{key}}","name":"Ada"}`, "BASIC-06 MIS-01 MIS-05 MIS-08",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := &orders{}
			config := trial(t, protectedOrders(t, app, semel.Policy{}, &semelhttp.Options{Key: given.source}), app)
			config.Key = given.place
			config.Template.Header = []wire.Field{{Name: "Content-Type", Value: given.contentType}}
			config.Template.Body = []byte(given.body)
			if given.place.In == "template" {
				config.Profile, _ = check.ProfileNamed("resource")
			}
			mustPass(t, expectBad(t, config), strings.Fields(given.mustRun)...)
		})
	}
}

// mustPass expects checks to have run, and not to be skipped.
func mustPass(t *testing.T, report *check.Report, ids ...string) {
	t.Helper()
	got := verdicts(report)
	for _, id := range ids {
		if got[id] != check.Pass {
			t.Errorf("%s: got %s, want a pass", id, got[id])
		}
	}
}

// fromQuery takes the key from ?request_id=.
type fromQuery struct{}

func (fromQuery) String() string { return "query request_id" }
func (fromQuery) Key(r *http.Request, _ *semelhttp.Body) (string, bool, error) {
	query := r.URL.Query()
	return query.Get("request_id"), query.Has("request_id"), nil
}

const multipartBody = "--gears\r\nContent-Disposition: form-data; name=\"n\"\r\n\r\n{{n}}\r\n--gears--\r\n"

// TestMultipart runs against a service that ignores boundaries, and one that treats another boundary as another intent.
func TestMultipart(t *testing.T) {
	t.Parallel()
	parts := func(r *http.Request, body []byte) string {
		media, parameters, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
		text := r.Method + r.URL.String() + media
		in := multipart.NewReader(bytes.NewReader(body), parameters["boundary"])
		for {
			part, err := in.NextPart()
			if err != nil {
				return text
			}
			content, _ := io.ReadAll(part)
			text += "\n" + part.FormName() + "=" + string(content)
		}
	}
	for name, given := range map[string]struct {
		how  func(*desk)
		want []string
	}{
		"right": {func(d *desk) { d.fingerprint = parts }, nil},
		"another intent": {func(d *desk) {
			d.lookUp = func(key, fingerprint string) string { return key + fingerprint }
		}, []string{"MIS-01", "MIS-03", "MIS-07", "MIS-09", "MIS-11"}},
	} {
		for _, body := range []string{multipartBody, strings.ReplaceAll(multipartBody, "{{n}}", "17")} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				d := newDesk()
				given.how(d)
				config := trial(t, d, d)
				config.Template.Header[0].Value = "multipart/form-data; boundary=gears"
				config.Template.Body = []byte(body)
				report := expectBad(t, config, given.want...)
				if given.want == nil {
					mustPass(t, report, "MIS-01", "MIS-09")
				}
			})
		}
	}
}

// TestOtherBody uses a known key with the body that the configuration has.
func TestOtherBody(t *testing.T) {
	t.Parallel()
	d := newDesk()
	seen := make(chan string, 2)
	d.mismatch = func(w http.ResponseWriter, _ map[string]*filed, _ string) bool {
		d.refuse(w, http.StatusUnprocessableEntity)
		return false
	}
	fingerprint := d.fingerprint
	d.fingerprint = func(r *http.Request, body []byte) string {
		if r.Header.Get("X-Other") != "" {
			seen <- string(body)
		}
		return fingerprint(r, body)
	}
	config := trial(t, d, d)
	config.OtherBody = &check.Template{Body: []byte(`{"item":"other"}`), Header: []wire.Field{{Name: "X-Other", Value: "yes"}}}
	config.Only = []string{"MIS-02"}
	expectBad(t, config)
	close(seen)
	if diff := cmp.Diff(`{"item":"other"}`, <-seen); diff != "" {
		t.Errorf("the other body (-want +got):\n%s", diff)
	}
}

// TestWorksAfterAnswering runs against a service that answers at once and works later: no check may count the effects
// of the one before as its own.
func TestWorksAfterAnswering(t *testing.T) {
	t.Parallel()
	d := newDesk()
	d.app = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/orders" || r.Method != http.MethodPost {
			http.NotFound(w, r)
			return
		}
		id := len(d.records) + 1
		time.AfterFunc(60*time.Millisecond, func() { d.taken.Add(1) })
		w.Header().Set("Location", "/orders/queued-"+strings.Repeat("i", id))
		w.WriteHeader(http.StatusAccepted)
	})
	config := trial(t, d, d)
	config.Settle = 3 * time.Second
	config.Only = []string{"BASIC-01", "BASIC-02", "BASIC-03", "BASIC-05", "BASIC-10", "MIS-01", "MIS-02", "KEY-05", "LAST-01"}
	expectBad(t, config)
}
