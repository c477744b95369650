package main

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Promises 1 to 10: every scenario, at a smaller bound than `make model`'s, is
// explored to its end and keeps every promise.
func TestScenariosKeepEveryPromise(t *testing.T) {
	t.Parallel()
	for _, sc := range scenarios() {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			m := &model{scenario: sc.smaller()}
			f := m.explore(t.Context(), maxStates)
			var told bytes.Buffer
			if !m.report(&told, f) {
				t.Errorf("%s", &told)
			}
			if f.states < 50 {
				t.Errorf("only %d states were found: the scenario does nothing", f.states)
			}
			t.Logf("%d states, %d transitions", f.states, f.transitions)
		})
	}
}

// A broken promise is shown as the shortest way to it, one line for each step.
// `make mutate` shows that every line of the protocol is missed (MUTANT=^model).
func TestCounterExample(t *testing.T) {
	t.Parallel()
	m := &model{scenario: scenarios()[0].smaller()}
	path := []step{{who: 0, says: "asks"}, {who: theStore, says: "sweeps"}}
	var told bytes.Buffer
	m.printPath(&told, breach{9, "a lease is short"}, path)
	for _, want := range []string{"promise 9 is broken: a lease is short", "1. host A", "2. store"} {
		if !strings.Contains(told.String(), want) {
			t.Errorf("got\n%swant %q in it", &told, want)
		}
	}
}

// docs/guarantees.md lists the scenarios that attack each promise.
func TestPromises(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/guarantees.md")
	if err != nil {
		t.Fatal(err)
	}
	for promise := 1; promise <= 10; promise++ {
		var names []string
		for _, sc := range scenarios() {
			if slices.Contains(sc.promises, promise) {
				names = append(names, sc.name)
			}
		}
		row := regexp.MustCompile(fmt.Sprintf(`(?m)^\| %d\. [^|]*\|[^|]*\| %s \|[^|]*\|$`, promise, strings.Join(names, ", ")))
		if !row.Match(page) {
			t.Errorf("docs/guarantees.md does not say that promise %d is attacked by %s", promise, strings.Join(names, ", "))
		}
	}
}

// States that differ in names only are one.
func TestCanonicalStatesHaveNoNames(t *testing.T) {
	t.Parallel()
	m := &model{scenario: scenarios()[0]}
	one := state{last: 9}
	one.hosts[0] = host{phase: working, owner: 7, fence: 40, trust: 1}
	one.hosts[1] = host{phase: working, owner: 3, fence: 50, trust: 2}
	one.records[0] = record{state: 1, fence: 50, owner: 3, expires: 3}
	other := state{}
	other.hosts[1] = host{phase: working, owner: 1, fence: 4, trust: 1}
	other.hosts[0] = host{phase: working, owner: 2, fence: 6, trust: 2}
	other.records[0] = record{state: 1, fence: 6, owner: 2, expires: 3}
	m.canonical(&one)
	m.canonical(&other)
	if one != other {
		t.Errorf("got two states, want one:\n%+v\n%+v", one, other)
	}
	other.records[0].fence = 1
	m.canonical(&other)
	if one == other {
		t.Error("got one state for records of different holders, want two")
	}
}

// A run says what it explored, and its exit code says how it went.
func TestRun(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"-only", "^transaction$"}, 0, "exhausted, every promise kept"},
		{[]string{"-only", "nothing"}, 2, "there are refuse"},
	} {
		var out bytes.Buffer
		if code := run(t.Context(), test.args, &out, &out); code != test.code || !strings.Contains(out.String(), test.want) {
			t.Errorf("%q: got code %d, want %d, and %q in\n%s", test.args, code, test.code, test.want, &out)
		}
	}
}

// TestUsage: what makes no sense, or would prove nothing, is refused.
func TestUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-only", "("}, {"-only", "no such scenario"}, {"-attempts", "-1"}, {"clocks"}} {
		var said bytes.Buffer
		if code := run(t.Context(), args, &said, &said); code != 2 || said.Len() == 0 {
			t.Errorf("%v: exit code %d and %q, want a refusal", args, code, said.String())
		}
	}
}
