package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// The command starts itself again, kills and stops what it started, and finds
// nothing wrong with a store in a file. `make histories` plays all scenarios.
func TestRun(t *testing.T) {
	t.Parallel()
	var stdout bytes.Buffer
	args := []string{"-for", "2s", "-only", "^sqlite/", "-json", "-out", filepath.Join(t.TempDir(), "wrong")}
	code := run(t.Context(), args, &stdout, os.Stderr) // its children write there, too
	var r report
	if err := json.Unmarshal(stdout.Bytes(), &r); err != nil {
		t.Fatalf("code %d, error %v\n%s", code, err, stdout.String())
	}
	if code != 0 || len(r.Results) != 4 || !r.holds() {
		t.Errorf("code %d, %+v", code, r)
	}
	for _, one := range r.Results {
		if one.Faults == 0 || one.Operations == 0 || one.Histories == 0 || len(one.Promises) == 0 {
			t.Errorf("nothing happened: %+v", one)
		}
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

// What nobody can tell is no success, nor is that nothing happened.
func TestHolds(t *testing.T) {
	t.Parallel()
	fine := result{Operations: 10, Pending: 2, Faults: 1, Histories: 3}
	for name, change := range map[string]func(*result){
		"a violation":  func(r *result) { r.Violations = 1 },
		"undecided":    func(r *result) { r.Undecided = 1 },
		"no faults":    func(r *result) { r.Faults = 0 },
		"no answers":   func(r *result) { r.Pending = r.Operations },
		"no histories": func(r *result) { r.Histories = 0 },
		"an error":     func(r *result) { r.Error = "no server" },
	} {
		broken := fine
		change(&broken)
		if r := (report{Results: []result{fine, broken}}); r.holds() {
			t.Errorf("%s passes", name)
		}
	}
	if r := (report{Results: []result{fine}}); !r.holds() || (&report{}).holds() {
		t.Error("a good run must pass, and none at all must not")
	}
}
