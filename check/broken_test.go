package check_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

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

// TestBroken breaks the desk in one way at a time, and expects the checks of that to fail, and no others. The mistakes that
// people make are in check/internal/faulty.
func TestBroken(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]struct {
		how  func(*desk)
		want string
	}{
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
		"refuses a mismatch oddly": {func(d *desk) {
			d.mismatch = func(w http.ResponseWriter, _ map[string]*filed, _ string) bool {
				d.refuse(w, http.StatusConflict)
				return false
			}
		}, "MIS-03"},
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
