package check_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/check/effects"
	"github.com/semel-dev/semel/check/report"
	"github.com/semel-dev/semel/check/wire"
)

// liar answers every request to /things as a test says, and counts itself.
type liar struct {
	counter

	answer func(w http.ResponseWriter, r *http.Request, n int64)
}

func (l *liar) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.answer(w, r, l.effects.Add(1))
}

// written returns everything that a run of the basic checks prints.
func written(t *testing.T, l *liar, edit func(*check.Config)) (*check.Report, string) {
	t.Helper()
	profile, _ := check.ProfileNamed("ietf")
	config := check.Config{
		Template: check.Template{Method: "POST", URL: serve(t, l) + "/things", Body: []byte(`{"n":{{n}}}`)},
		Profile:  profile, Counters: []check.Counter{l}, Only: []string{"basics", "MIS-02"}, Level: check.LevelStrict,
		Settle: 1, Rate: 5000,
	}
	if edit != nil {
		edit(&config)
	}
	got := run(t.Context(), t, config)
	var b bytes.Buffer
	for _, write := range []func(io.Writer, *check.Report) error{
		report.JSON, report.JUnit, report.HTML,
		func(w io.Writer, r *check.Report) error { return report.Text(w, r, &report.TextOptions{Verbose: true}) },
	} {
		if err := write(&b, got); err != nil {
			t.Fatal(err)
		}
	}
	return got, b.String()
}

// maxReport is more than all four reports of a few checks need, however long the
// service's answers are.
const maxReport = 4 << 20

// TestLongAnswersMakeNoLongReports: the answers of a service are bounded in memory and on paper.
func TestLongAnswersMakeNoLongReports(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 200<<10)
	for name, answer := range map[string]func(w http.ResponseWriter, n int64){
		"a Location": func(w http.ResponseWriter, n int64) { w.Header().Set("Location", fmt.Sprint("/", n, long)) },
		"a header":   func(w http.ResponseWriter, n int64) { w.Header().Set("ETag", fmt.Sprint(n, long)) },
		"many cookies": func(w http.ResponseWriter, n int64) {
			for i := range 5000 {
				http.SetCookie(w, &http.Cookie{Name: fmt.Sprint("c", i), Value: fmt.Sprint("value-", n, i)})
			}
		},
		"a member's name": func(w http.ResponseWriter, n int64) { _, _ = fmt.Fprintf(w, `{"%d%s":1}`, n, long) },
		"an id":           func(w http.ResponseWriter, n int64) { _, _ = fmt.Fprintf(w, `{"id":"%d%s"}`, n/3, long) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &liar{answer: func(w http.ResponseWriter, _ *http.Request, n int64) { answer(w, n) }}
			got, text := written(t, l, nil)
			if len(text) > maxReport {
				t.Errorf("the reports have %d bytes", len(text))
			}
			for _, one := range got.Results {
				if len(one.Reason) > 4<<10 {
					t.Errorf("the reason of %s has %d bytes", one.ID, len(one.Reason))
				}
			}
		})
	}
}

// TestEchoedCredentials: no part of a credential that an answer echoes is in any report, even if the text is cut in the
// middle of it.
func TestEchoedCredentials(t *testing.T) {
	t.Parallel()
	token := "eyJ0b2tlbi1vZi1hbm4i." + strings.Repeat("Aa0-Bb1_Cc2", 40) + "-its-end"
	for name, body := range map[string]func(n int64) string{
		"a member that differs": func(n int64) string { return fmt.Sprintf(`{"id":%d,"echo":"%s%d"}`, n, token, n) },
		"many times":            func(int64) string { return strings.Repeat(token+" ", 40) },
		"in a refusal":          func(int64) string { return strings.Repeat("a", 150) + token },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &liar{answer: func(w http.ResponseWriter, _ *http.Request, n int64) {
				if name == "in a refusal" {
					w.WriteHeader(http.StatusBadRequest)
				}
				_, _ = io.WriteString(w, body(n))
			}}
			_, text := written(t, l, func(c *check.Config) { c.User = bearer(token) })
			if at := strings.Index(text, token[:20]); at >= 0 {
				t.Errorf("a report has %q", text[at:at+min(40, len(text)-at)])
			}
			if at := strings.Index(text, "Aa0-Bb1_Cc2Aa0"); at >= 0 {
				t.Errorf("a report has %q", text[max(0, at-30):at+14])
			}
		})
	}
}

// TestPolicyOfAnotherHost: an answer cannot make the checks contact another host.
func TestPolicyOfAnotherHost(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 10)
	other := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.URL.Path }))
	l := &liar{answer: func(w http.ResponseWriter, _ *http.Request, n int64) {
		w.Header().Set("Link", "<"+other+`/secret>; rel="describedby"`)
		w.WriteHeader(http.StatusCreated)
		_, _ = fmt.Fprintf(w, `{"id":%d}`, n)
	}}
	got, _ := written(t, l, func(c *check.Config) { c.Only = []string{"BASIC-11"} })
	if one := resultOf(t, got, "BASIC-11"); one.Verdict != check.Incomplete || !strings.Contains(one.Reason, "another host") {
		t.Errorf("got %s (%s)", one.Verdict, one.Reason)
	}
	if len(asked) > 0 {
		t.Errorf("another host was asked for %s", <-asked)
	}
}

// falling is a count from which something is removed.
type falling struct{ *liar }

func (f falling) Count(context.Context, func(string) string) (int64, error) {
	return 1000 - 3*f.effects.Load(), nil
}

// TestFallingCountAccusesNoService: if the count falls, something else changes it.
func TestFallingCountAccusesNoService(t *testing.T) {
	t.Parallel()
	l := &liar{answer: func(w http.ResponseWriter, _ *http.Request, n int64) { _, _ = fmt.Fprintf(w, `{"id":%d}`, n) }}
	got, _ := written(t, l, func(c *check.Config) {
		c.Counters, c.Only = []check.Counter{falling{l}}, []string{"BASIC-01", "BASIC-02"}
	})
	for _, id := range []string{"BASIC-01", "BASIC-02"} {
		if one := resultOf(t, got, id); one.Verdict != check.Incomplete || !strings.Contains(one.Reason, "fell") {
			t.Errorf("%s: %s (%s)", id, one.Verdict, one.Reason)
		}
	}
}

// TestMintedNumberKeepsItsDigits: an id that exceeds a float is sent unchanged.
func TestMintedNumberKeepsItsDigits(t *testing.T) {
	t.Parallel()
	var bodies []string
	l := &liar{answer: func(w http.ResponseWriter, r *http.Request, n int64) {
		if r.URL.Path == "/ids" {
			_, _ = io.WriteString(w, `{"id":9007199254740993}`)
			return
		}
		body, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(body))
		_, _ = fmt.Fprintf(w, `{"id":%d}`, n)
	}}
	_, _ = written(t, l, func(c *check.Config) {
		at := strings.TrimSuffix(c.Template.URL, "/things")
		c.Template.Body = []byte(`{"id":{{minted}}}`)
		c.Profile, _ = check.ProfileNamed("resource")
		c.Mint = &check.Mint{Template: check.Template{Method: "GET", URL: at + "/ids"}, Pointer: "/id"}
		c.Only = []string{"BASIC-01"}
	})
	if len(bodies) == 0 || bodies[0] != `{"id":9007199254740993}` {
		t.Errorf("sent %q", bodies)
	}
}

// TestLargeDocuments: an answer with very many or very deep values is judged within a bound of memory, and never as
// equal if it was not compared whole.
func TestLargeDocuments(t *testing.T) {
	t.Parallel()
	places, chains := 1<<16, 4 // more than are compared
	if os.Getenv("SEMEL_LONG") == "1" {
		places, chains = 1<<20, 50
	}
	for name, body := range map[string]func(n int64) string{
		"many numbers": func(n int64) string { return "[" + strings.Repeat("1,", places) + fmt.Sprint(n) + "]" },
		"many words":   func(n int64) string { return strings.Repeat("a ", places) + fmt.Sprint(n) },
		"many chains": func(n int64) string {
			return "[" + strings.Repeat(strings.Repeat("[", 9000)+"1"+strings.Repeat("]", 9000)+",", chains) + fmt.Sprint(n) + "]"
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &liar{answer: func(w http.ResponseWriter, _ *http.Request, n int64) { _, _ = io.WriteString(w, body(n)) }}
			got, _ := written(t, l, func(c *check.Config) { c.Only = []string{"BASIC-04", "BASIC-06"} })
			if one := resultOf(t, got, "BASIC-04"); one.Verdict == check.Pass {
				t.Errorf("BASIC-04: %s (%s)", one.Verdict, one.Reason)
			}
		})
	}
}

// TestDeepPage: a page of very many open elements is counted, or refused.
func TestDeepPage(t *testing.T) {
	t.Parallel()
	at := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, strings.Repeat("<div>", 1<<20))
	}))
	rows, err := effects.HTML(&wire.Client{}, at, "tr", nil)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := rows.Count(t.Context(), func(text string) string { return text }); err == nil && n != 0 {
		t.Errorf("counted %d", n)
	}
}

// TestEscapeSequences: nothing that a service sends controls the terminal or reverses the text of a report.
func TestEscapeSequences(t *testing.T) {
	t.Parallel()
	nasty := "\x1b[2J\x1b]0;owned\x07\u009b31m\u202e\x7f\x08</script><script>alert(1)</script>]]>"
	header := "\u009b31m\u202e</script>" // an answer with control bytes in its head is not read
	l := &liar{answer: func(w http.ResponseWriter, r *http.Request, n int64) {
		w.Header().Set("Location", fmt.Sprint("/", n, header))
		w.Header().Set("X-Note", header)
		w.Header().Set("Content-Type", "text/plain; "+header)
		w.WriteHeader(http.StatusCreated)
		_, _ = fmt.Fprintf(w, "%d %s %q", n, nasty, r.URL)
	}}
	for name, answer := range map[string]func(http.ResponseWriter, *http.Request, int64){
		"in answers": l.answer,
		"in a refusal": func(w http.ResponseWriter, _ *http.Request, _ int64) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusUnprocessableEntity)
			_, _ = fmt.Fprintf(w, `{"detail":%q,"errors":{"%s":"x"}}`, "no", strings.Trim(strings.ReplaceAll(fmt.Sprintf("%+q", nasty), `\x`, `\u00`), `"`))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, text := written(t, &liar{answer: answer}, nil)
			if at := strings.IndexAny(text, "\x1b\x07\u009b\u202e\x7f\x08"); at >= 0 {
				t.Errorf("a report has %+q", text[max(0, at-60):min(len(text), at+20)])
			}
		})
	}
}
