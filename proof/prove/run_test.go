package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/claimtest"
)

// The command starts itself again, kills and stops what it started, and finds
// no violation in stores in a file. `make prove` plays all scenarios.
func TestRun(t *testing.T) {
	t.Parallel()
	var stdout bytes.Buffer
	code := 1
	for _, long := range []string{"10s", "40s"} { // a busy machine needs longer, as the command then says
		stdout.Reset()
		args := []string{"-for", long, "-only", "^(store|clock|guard|transaction)/(sqlite|log)", "-out", filepath.Join(t.TempDir(), "wrong")}
		code = run(t.Context(), args, &stdout, os.Stderr) // its children write there as well
		if !strings.Contains(stdout.String(), "too little happened") {
			break
		}
	}
	if code != 0 || strings.Count(stdout.String(), "/sqlite") != 4 || strings.Count(stdout.String(), "/log") != 3 {
		t.Errorf("code %d\n%s", code, stdout.String())
	}
}

// A soak of less than a quarter of an hour proves nothing, although no promise was broken.
func TestShortSoak(t *testing.T) {
	t.Parallel()
	var stdout bytes.Buffer
	out := t.TempDir()
	code := run(t.Context(), []string{"-for", "12s", "-only", "soak/sqlite", "-out", out}, &stdout, os.Stderr)
	if code != 1 || !strings.Contains(stdout.String(), "soak/sqlite: less than 15m0s shows nothing") {
		t.Errorf("code %d\n%s", code, stdout.String())
	}
	if samples, err := os.ReadFile(filepath.Join(out, "soak-sqlite.csv")); err != nil || bytes.Count(samples, []byte("\n")) < 2 {
		t.Errorf("%v\n%s", err, samples)
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for want, args := range map[int][][]string{
		2: {{"-only", "("}, {"-for", "soon"}, {"-for", "0s"}, {"sqlite"}, {childWord, "{"}},
		3: {{"-only", "oracle"}},
	} {
		for _, a := range args {
			var stderr bytes.Buffer
			if got := run(t.Context(), a, &stderr, &stderr); got != want || stderr.Len() == 0 {
				t.Errorf("%v: exit code %d and %q, want %d and a reason", a, got, stderr.String(), want)
			}
		}
	}
}

// A run fails when a search was undecided, and when nothing happened.
func TestHolds(t *testing.T) {
	t.Parallel()
	fine := result{operations: 10, pending: 2, faults: 1, histories: 3}
	for name, change := range map[string]func(*result){
		"a violation":  func(r *result) { r.violations = []string{"twice"} },
		"undecided":    func(r *result) { r.undecided = 1 },
		"no faults":    func(r *result) { r.faults = 0 },
		"no answers":   func(r *result) { r.pending = r.operations },
		"no histories": func(r *result) { r.histories = 0 },
		"an error":     func(r *result) { r.err = errors.New("no server") },
	} {
		broken := fine
		change(&broken)
		if r := (report{results: []result{fine, broken}}); r.holds() {
			t.Errorf("%s passes", name)
		}
	}
	if r := (report{results: []result{fine}}); !r.holds() || (&report{}).holds() {
		t.Error("a good run must pass, and none at all must not")
	}
}

var noError = claimtest.NoError
