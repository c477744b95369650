package check_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/check/report"
)

// failsAtKeys answers 500 to unusual keys.
func failsAtKeys(unusual func(key string) bool) func(*desk) {
	return func(d *desk) {
		right := d.key
		d.key = func(lines []string) (string, int) {
			if len(lines) == 1 && unusual(strings.Split(lines[0]+`"`, `"`)[1]) {
				return "", http.StatusInternalServerError
			}
			return right(lines)
		}
	}
}

// TestEchoes: a mistake for which a basic check has failed is not counted again by every check that sees it, but
// anything worse is.
func TestEchoes(t *testing.T) {
	t.Parallel()
	withoutLocation := replayWith(func(h http.Header) { h.Del("Location") })
	for name, given := range map[string]struct {
		how           func(*desk)
		fails, echoes string
		headline      string
	}{
		"loses Location": {
			func(d *desk) { d.replay = withoutLocation },
			"BASIC-05", "BASIC-10=BASIC-05", "a repetition gets another answer than the first",
		},
		"loses Location, and later the body": {
			func(d *desk) {
				given := map[*httptest.ResponseRecorder]int{}
				d.replay = func(w http.ResponseWriter, a *httptest.ResponseRecorder) {
					if given[a]++; given[a] == 3 {
						w.WriteHeader(a.Code)
						return
					}
					withoutLocation(w, a)
				}
			},
			"BASIC-05 BASIC-10", "", "one of many repetitions is executed again",
		},
		"loses Location, and executes again": {
			func(d *desk) {
				d.replay = func(w http.ResponseWriter, a *httptest.ResponseRecorder) {
					d.taken.Add(1)
					withoutLocation(w, a)
				}
			},
			"BASIC-02 BASIC-05 BASIC-10 KEY-03 KEY-05 KEY-13", "", "a repeated request is executed again",
		},
		"fails at 255 bytes": {
			failsAtKeys(func(key string) bool { return len(key) >= 255 }),
			"KEY-05", "KEY-06=KEY-05 KEY-07=KEY-05", "a request that should be accepted or refused is answered with a server error",
		},
		"fails at 256 bytes": {
			failsAtKeys(func(key string) bool { return len(key) >= 256 }),
			"KEY-07", "KEY-06=KEY-07", "a request that should be accepted or refused is answered with a server error",
		},
		"fails at another length": {
			failsAtKeys(func(key string) bool { return len(key) > 36 }),
			"KEY-05", "KEY-06=KEY-05 KEY-07=KEY-05 KEY-09=KEY-05 KEY-11=KEY-05", "a request that should be accepted or refused is answered with a server error",
		},
		"fails at an accent": {
			failsAtKeys(func(key string) bool { return strings.Contains(key, "é") }),
			"KEY-09", "", "a request that should be accepted or refused is answered with a server error",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk()
			given.how(d)
			_, got := runTrial(t, trial(t, d, d))
			var echoes []string
			for _, one := range got.Results {
				if one.Verdict == check.Echo {
					echoes = append(echoes, one.ID+"="+one.EchoOf)
				}
			}
			want := [][]string{strings.Fields(given.fails), strings.Fields(given.echoes)}
			if diff := cmp.Diff(want, [][]string{having(got, check.Fail), echoes}, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("failures and echoes (-want +got):\n%s", diff)
			}
			headline := report.Headline(got)
			if failing := len(strings.Fields(given.fails)); !strings.Contains(headline, given.headline) || !strings.HasPrefix(headline, fmt.Sprintf("%d of ", failing)) {
				t.Errorf("the headline of %d failures is %q", failing, headline)
			}
		})
	}
}

// TestEchoOfKnownFailure: a baseline with the cause accepts its echoes.
func TestEchoOfKnownFailure(t *testing.T) {
	t.Parallel()
	d := newDesk()
	d.replay = replayWith(func(h http.Header) { h.Del("Location") })
	config := trial(t, d, d)
	config.Baseline = []string{"BASIC-05"}
	_, got := runTrial(t, config)
	if known, echoes := having(got, check.Known), having(got, check.Echo); !got.Fine() || !slices.Equal(known, []string{"BASIC-05"}) || len(echoes) == 0 {
		t.Errorf("fine %v, known %v, echoes %v", got.Fine(), known, echoes)
	}
}
