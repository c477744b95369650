package check_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/check/wire"
)

// parrot is a service that repeats every secret it receives, in its answer's body, in Location and in a cookie.
func parrot(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("Location", "/things?access_token=made-here&who="+r.Header.Get("X-User"))
	w.Header().Add("Set-Cookie", "sid=cookie-made-here; Path=/; HttpOnly")
	w.WriteHeader(http.StatusCreated)
	_, _ = fmt.Fprintf(w, "%s\n%q\ncookie-made-here\n%s", body, r.Header.Values("Authorization"), r.Header.Get("Cookie"))
}

// reported returns the JSON report of a run of BASIC-02, which fails.
func reported(t *testing.T, handler http.Handler, alter func(*check.Config)) string {
	t.Helper()
	effects := &unguarded{Handler: handler}
	url := serve(t, effects)
	profile, _ := check.ProfileNamed("ietf")
	config := check.Config{
		Template: check.Template{Method: "POST", URL: strings.Replace(url, "://", "://me:hush-in-url@", 1) + "/things?api_key=hush-query&page=shown-page"},
		Profile:  profile, Counters: []check.Counter{effects}, Only: []string{"BASIC-02"},
	}
	alter(&config)
	report, err := tryOut(t, config)
	if err != nil {
		t.Fatal(err)
	}
	if report.Count(check.Fail) != 1 {
		t.Fatalf("BASIC-02 did not fail: %+v", report.Results)
	}
	var text bytes.Buffer
	to := json.NewEncoder(&text)
	to.SetEscapeHTML(false)
	if err := to.Encode(report); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// unguarded has an effect at every request, so that checks fail. Its name contains a secret, as it must not.
type unguarded struct {
	http.Handler

	effects atomic.Int64
}

func (u *unguarded) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	u.effects.Add(1)
	u.Handler.ServeHTTP(w, r)
}

func (*unguarded) Name() string    { return "postgres://me:hush-in-url@db.example/shop" }
func (*unguarded) PerIntent() bool { return false }
func (u *unguarded) Count(context.Context, func(string) string) (int64, error) {
	return u.effects.Load(), nil
}

// TestErrorHasNoSecrets: the error of Run is printed as well.
func TestErrorHasNoSecrets(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	profile, _ := check.ProfileNamed("ietf")
	report, err := tryOut(t, check.Config{
		Template: check.Template{Method: "POST", URL: server.URL + "/things?token=hush-token"}, Profile: profile,
		User: &check.User{Values: check.Values{"password": strings.TrimPrefix(server.URL, "http://")}},
	})
	if !errors.Is(err, wire.ErrUnreachable) || report.Died == "" {
		t.Fatalf("got %v, %q", err, report.Died)
	}
	for _, text := range []string{err.Error(), report.Died, report.Target} {
		if strings.Contains(text, "127.0.0.1") || strings.Contains(text, "hush") {
			t.Errorf("%q contains a secret", text)
		}
	}
}

// TestMalformedURLHasNoSecrets (C4): the message about a URL leaves the password out.
func TestMalformedURLHasNoSecrets(t *testing.T) {
	t.Parallel()
	profile, _ := check.ProfileNamed("ietf")
	for _, at := range []string{"http://u:hush%zz@h/", "http://u:hush/x@h/", "u:hush@h", "//u:hush@h/", "http://u:hush@/", "http://u:hush@h/#f"} {
		_, err := check.NewPlan(check.Config{Template: check.Template{Method: "POST", URL: at}, Profile: profile})
		if err == nil || strings.Contains(err.Error(), "hush") || strings.Contains(err.Error(), "zz") {
			t.Errorf("%s: got %v", at, err)
		}
	}
}

func TestReportHasNoSecrets(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"JSON":           `{"number":"shown-number","password":"hush-password","nested":{"clientSecret":{"a":["hush-deep", 1]},"n":2},"card_number":4111111111111111}`,
		"escaped names":  `{"pass\u0077ord":"hush-password","number":"shown-number"}`,
		"cut JSON":       `{"number":"shown-number","token":"hush-password`,
		"form":           `number=shown-number&user%5Bpassword%5D=hush-password&token=hush-token`,
		"multipart":      "--b\r\nContent-Disposition: form-data; name=\"number\"\r\n\r\nshown-number\r\n--b\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\nhush-password\r\n--b--\r\n",
		"XML":            `<order><number>shown-number</number><password>hush-password</password></order>`,
		"page":           `<input type=hidden value="hush-password" name="csrf_token"><input name=number value=shown-number>`,
		"asked for":      `{"number":"shown-number","Birth-Day":"hush-password"}`,
		"echoed":         `shown-number hush-header`,
		"JSON echoed":    `"shown-number" {"password":"hush\"quote"} "hush\"quote" hush%22quote`,
		"behind the cut": "shown-number" + strings.Repeat(" ", 4<<10-12-5) + "hush-header",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := reported(t, http.HandlerFunc(parrot), func(c *check.Config) {
				c.Mask = []string{"birth_day"}
				c.User = &check.User{Header: []wire.Field{{Name: "X-User", Value: "hush-user"}}}
				c.Template.Body = []byte(body)
				c.Template.Header = []wire.Field{
					{Name: "Authorization", Value: "Bearer hush-header"}, {Name: "Cookie", Value: "a=hush-cookie; b=hush-too"}, {Name: "X-Trace", Value: "shown-trace"},
				}
			})
			for _, secret := range []string{"hush", "made-here", "4111111111111111"} {
				if at := strings.Index(text, secret); at >= 0 {
					t.Errorf("the report contains %q: %s", secret, text[max(0, at-80):min(len(text), at+80)])
				}
			}
			for _, shown := range []string{"shown-number", "shown-page", "shown-trace", "sid=***", "a=***; b=***", "semel-check-", "Idempotency-Key"} {
				if !strings.Contains(text, shown) {
					t.Errorf("the report does not contain %q: %s", shown, text)
				}
			}
		})
	}
}

// TestBytesHaveNoSecrets: binary bodies are masked as well, and so are quotations from a compressed answer.
func TestBytesHaveNoSecrets(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	binary := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, "{\"password\":\"hush-password%d\"}\x00", n.Add(1))
	})
	zipped := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		to := gzip.NewWriter(w)
		_, _ = fmt.Fprintf(to, `{"token":"hush-%d"}`, n.Add(1))
		_ = to.Close()
	})
	for name, service := range map[string]http.Handler{"binary": binary, "gzip": zipped} {
		text := reported(t, service, func(c *check.Config) { c.Only = []string{"BASIC-04"} })
		if strings.Contains(text, "hush-") || strings.Contains(text, hex.EncodeToString([]byte("hush-"))) {
			t.Errorf("%s: the report contains a secret: %s", name, text)
		}
	}
}
