package check_test

import (
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel/check"
)

// replayWith returns a replay that leaves out or changes header lines.
func replayWith(change func(http.Header)) func(http.ResponseWriter, *httptest.ResponseRecorder) {
	return func(w http.ResponseWriter, answer *httptest.ResponseRecorder) {
		copied := httptest.NewRecorder()
		copied.Code, copied.Body = answer.Code, answer.Body
		maps.Copy(copied.Header(), answer.Header())
		copied.Header().Set("Idempotent-Replayed", "true")
		change(copied.Header())
		writeFiled(w, copied, nil)
	}
}

// rekeyed reads keys as the desk does, and then changes them.
func rekeyed(d *desk, spoil func(string) string) {
	right := d.key
	d.key = func(lines []string) (string, int) {
		key, refusal := right(lines)
		return spoil(key), refusal
	}
}

// rawKeys takes every line as it is, except for the quotes around it.
func rawKeys(d *desk, spoil func(string) string) {
	d.key = func(lines []string) (string, int) {
		if len(lines) != 1 || strings.Trim(lines[0], `"`) == "" {
			return "", http.StatusBadRequest
		}
		return spoil(strings.TrimSuffix(strings.TrimPrefix(lines[0], `"`), `"`)), 0
	}
}

// TestBroken breaks the desk in one way at a time, and expects the checks of that to fail, and no others.
func TestBroken(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]struct {
		how  func(*desk)
		want string
	}{
		"replays another status": {func(d *desk) {
			d.replay = func(w http.ResponseWriter, a *httptest.ResponseRecorder) {
				copied := *a
				copied.Code = http.StatusOK
				writeFiled(w, &copied, http.Header{"Idempotent-Replayed": {"true"}})
			}
		}, "BASIC-03 BASIC-10"},
		"replays another body": {func(d *desk) {
			d.replay = func(w http.ResponseWriter, a *httptest.ResponseRecorder) {
				w.Header().Set("Location", a.Header().Get("Location"))
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("Idempotent-Replayed", "true")
				w.WriteHeader(a.Code)
				_, _ = fmt.Fprintf(w, `{"id":%d,"state":"open"}`, time.Now().UnixNano())
			}
		}, "BASIC-04 BASIC-10"},
		"loses Location": {func(d *desk) { d.replay = replayWith(func(h http.Header) { h.Del("Location") }) }, "BASIC-05 BASIC-10"},
		"loses Content-Type": {func(d *desk) {
			d.replay = replayWith(func(h http.Header) { h.Set("Content-Type", "text/plain") })
		}, "BASIC-12"},
		"marks nothing": {func(d *desk) { d.replay = d.first }, "BASIC-08"},
		"marks everything": {func(d *desk) {
			d.first = replayWith(func(http.Header) {})
		}, "BASIC-09"},
		"looks up by body alone": {func(d *desk) {
			d.lookUp = func(_, fingerprint string) string { return fingerprint }
			d.taken.Store(0)
		}, "BASIC-07 MIS-01 MIS-03 MIS-07 MIS-08 MIS-11"},
		"forgets after the third replay": {func(d *desk) {
			replay := d.replay
			d.replay = func(w http.ResponseWriter, a *httptest.ResponseRecorder) {
				for id, one := range d.records {
					if one.answer == a && one.given == 3 {
						delete(d.records, id)
					}
				}
				replay(w, a)
			}
		}, "BASIC-10"},
		"publishes nothing":      {func(d *desk) { d.policy = "" }, "BASIC-11"},
		"publishes no retention": {func(d *desk) { d.policy = "Send a key." }, "BASIC-11"},
		"refuses a missing key oddly": {func(d *desk) {
			right := d.key
			d.key = func(lines []string) (string, int) {
				if len(lines) == 0 {
					return "", http.StatusForbidden
				}
				return right(lines)
			}
		}, "KEY-01"},
		"takes an empty key": {func(d *desk) {
			right := d.key
			d.key = func(lines []string) (string, int) {
				if len(lines) == 1 && strings.Trim(lines[0], `"`) == "" {
					return "", 0
				}
				return right(lines)
			}
		}, "KEY-02"},
		"leaves quotes on": {func(d *desk) {
			right := d.key
			d.key = func(lines []string) (string, int) {
				key, refusal := right(lines)
				if refusal == 0 {
					key = lines[0]
				}
				return key, refusal
			}
		}, "KEY-03 KEY-13"},
		"takes the first of two lines": {func(d *desk) {
			right := d.key
			d.key = func(lines []string) (string, int) { return right(lines[:min(1, len(lines))]) }
		}, "KEY-04"},
		"fails at 255 bytes": {func(d *desk) {
			right := d.key
			d.key = func(lines []string) (string, int) {
				if len(lines) == 1 && len(lines[0]) >= 255 {
					return "", http.StatusInternalServerError
				}
				return right(lines)
			}
		}, "KEY-05 KEY-06 KEY-07"},
		"cuts keys": {func(d *desk) {
			rekeyed(d, func(key string) string { return key[:min(len(key), 100)] })
		}, "KEY-06"},
		"fails at huge keys": {func(d *desk) {
			right := d.key
			d.key = func(lines []string) (string, int) {
				if len(lines) == 1 && len(lines[0]) > 4096 {
					return "", http.StatusInternalServerError
				}
				return right(lines)
			}
		}, "KEY-07"},
		"folds accents": {func(d *desk) {
			rawKeys(d, func(key string) string { return strings.ReplaceAll(key, "é", "e") })
		}, "KEY-09 KEY-12 KEY-13"},
		"folds case": {func(d *desk) { rekeyed(d, strings.ToLower) }, "KEY-10"},
		"trims keys": {func(d *desk) { rekeyed(d, strings.TrimSpace) }, "KEY-11"},
		"reads no structure": {func(d *desk) {
			rawKeys(d, func(key string) string { return key })
		}, "KEY-12 KEY-13"},
		"refuses without a word": {func(d *desk) {
			d.refuse = func(w http.ResponseWriter, status int) { w.WriteHeader(status) }
		}, "KEY-14 MIS-12"},
		"executes a mismatch": {func(d *desk) {
			d.mismatch = func(http.ResponseWriter, map[string]*filed, string) bool { return true }
		}, "MIS-01 MIS-03 MIS-07 MIS-08 MIS-11"},
		"compares nothing": {func(d *desk) {
			d.fingerprint = func(*http.Request, []byte) string { return "" }
		}, "MIS-02 MIS-03 MIS-04 MIS-05 MIS-06 MIS-07"},
		"compares the body alone": {func(d *desk) {
			d.fingerprint = func(_ *http.Request, body []byte) string { return string(body) }
		}, "MIS-04 MIS-05 MIS-06 MIS-07"},
		"refuses a mismatch oddly": {func(d *desk) {
			d.mismatch = func(w http.ResponseWriter, _ map[string]*filed, _ string) bool {
				d.refuse(w, http.StatusConflict)
				return false
			}
		}, "MIS-03"},
		"forgets at a mismatch": {func(d *desk) {
			d.mismatch = func(w http.ResponseWriter, records map[string]*filed, id string) bool {
				delete(records, id)
				d.refuse(w, http.StatusUnprocessableEntity)
				return false
			}
		}, "MIS-10"},
		"tells at a mismatch": {func(d *desk) {
			d.mismatch = func(w http.ResponseWriter, records map[string]*filed, id string) bool {
				w.Header().Set("Content-Type", "application/problem+json")
				w.WriteHeader(http.StatusUnprocessableEntity)
				_, _ = fmt.Fprintf(w, `{"was":%q,"id":0}`, records[id].answer.Header().Get("Location"))
				return false
			}
		}, "MIS-02 MIS-04 MIS-05"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk()
			broken.how(d)
			expectBad(t, trial(t, d, d), strings.Fields(broken.want)...)
		})
	}
}

// lenientListener lets control bytes through to a server that would refuse them.
type lenientListener struct{ net.Listener }

func (l lenientListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return lenientConnection{conn}, err
}

type lenientConnection struct{ net.Conn }

func (c lenientConnection) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	for i := range p[:n] {
		if p[i] == 1 {
			p[i] = 'x'
		}
	}
	return n, err
}

func TestControlByteIsTaken(t *testing.T) {
	t.Parallel()
	d := newDesk()
	server := httptest.NewUnstartedServer(d)
	server.Listener = lenientListener{server.Listener}
	server.Start()
	t.Cleanup(server.Close)
	config := trial(t, d, d)
	config.Template.URL = server.URL + "/orders"
	config.Only = []string{"keys"}
	expectBad(t, config, "KEY-08")
}

func TestUnprotected(t *testing.T) {
	t.Parallel()
	app := &orders{}
	config := trial(t, app, app)
	config.Level = check.LevelMust
	expectBad(t, config, "BASIC-02", "BASIC-04", "BASIC-05", "BASIC-10", "KEY-05", "MIS-01", "MIS-08", "MIS-10", "MIS-11")
}

// TestRefusesDuplicatesOddly stops duplicates with the wrong status.
func TestRefusesDuplicatesOddly(t *testing.T) {
	t.Parallel()
	d := newDesk()
	d.replay = func(w http.ResponseWriter, _ *httptest.ResponseRecorder) { d.refuse(w, http.StatusUnprocessableEntity) }
	config := trial(t, d, d)
	config.Profile, _ = check.ProfileNamed("dedup")
	config.Only = []string{"basics", "mismatch"}
	expectBad(t, config, "BASIC-10", "BASIC-13")
	d.replay = func(w http.ResponseWriter, _ *httptest.ResponseRecorder) { d.refuse(w, http.StatusConflict) }
	expectBad(t, config)
	config.Only = []string{"basics", "keys", "mismatch"}
	d.replay = func(w http.ResponseWriter, _ *httptest.ResponseRecorder) { w.WriteHeader(http.StatusOK) }
	expectBad(t, config, "BASIC-10", "BASIC-13")
}

// TestOneKeyForAll repeats the first answer ever given to every request.
func TestOneKeyForAll(t *testing.T) {
	t.Parallel()
	d := newDesk()
	d.lookUp = func(string, string) string { return "the key" }
	d.fingerprint = func(*http.Request, []byte) string { return "" }
	config := trial(t, d, d)
	config.Only = []string{"BASIC-01", "BASIC-06", "KEY-06"}
	expectBad(t, config, "BASIC-01", "BASIC-06", "KEY-06")
}

// TestLateEffect has an effect after everything was counted.
func TestLateEffect(t *testing.T) {
	t.Parallel()
	d := newDesk()
	config := trial(t, d, d)
	config.Progress = func(_, _ int, what string) {
		if what == "LAST-01" {
			d.taken.Add(1)
		}
	}
	expectBad(t, config, "LAST-01")
}

// TestLateEffectOfOneIntent has a late effect with a counter per intent only.
func TestLateEffectOfOneIntent(t *testing.T) {
	t.Parallel()
	for late, want := range map[int64][]string{0: nil, 1: {"LAST-01"}} {
		d, counter := newDesk(), &perIntent{taken: map[string]int64{}}
		d.app = counter.watch(&d.orders)
		config := trial(t, d, counter)
		config.Only = []string{"BASIC-02", "BASIC-06", "LAST-01"}
		config.Progress = func(_, _ int, what string) {
			if what != "BASIC-06" { // when the intent of BASIC-02 was counted
				return
			}
			counter.mu.Lock()
			defer counter.mu.Unlock()
			for n := range counter.taken {
				counter.taken[n] += late
			}
		}
		expectBad(t, config, want...)
	}
}

// TestWithoutCounter runs without a counter: checks that need one are incomplete, and the others judge the answers.
func TestWithoutCounter(t *testing.T) {
	t.Parallel()
	needy := func() (ids []string) {
		for _, one := range check.Catalog() {
			if one.NeedsCount && one.Group != "" {
				ids = append(ids, one.ID)
			}
		}
		return ids
	}
	d := newDesk()
	bad, _ := runTrial(t, trial(t, d))
	for _, id := range bad {
		if !slices.Contains(needy(), id) && id != "BASIC-01" {
			t.Errorf("%s: answers are enough for it", id)
		}
	}
	if !slices.Contains(bad, "BASIC-02") || !slices.Contains(bad, "LAST-01") {
		t.Errorf("passed without a counter, or not run: got %v", bad)
	}
	app := &orders{}
	config := trial(t, app)
	config.Only, config.Level = []string{"BASIC-03", "BASIC-04", "BASIC-05", "KEY-05"}, check.LevelMust
	expectBad(t, config, "BASIC-04", "BASIC-05", "KEY-05")
}

// TestAnswersThatSayNothing has neither a counter nor answers that differ: no check may pass that has to distinguish
// intents.
func TestAnswersThatSayNothing(t *testing.T) {
	t.Parallel()
	config := trial(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusOK)
		_, _ = io.WriteString(w, "ok")
	}))
	config.Only = []string{"BASIC-06", "BASIC-07", "KEY-02", "KEY-03", "KEY-05", "KEY-06", "MIS-02", "MIS-04", "MIS-05", "MIS-06"}
	_, report := runTrial(t, config)
	for i := range report.Results {
		if one := &report.Results[i]; one.Verdict == check.Pass {
			t.Errorf("%s passed", one.ID)
		}
	}
}
