package main

import (
	"bytes"
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

// Every line of the protocol is there for a reason: without it the promise
// that it keeps is broken, and the shortest way to that is shown.
func TestRemovalIsFound(t *testing.T) {
	t.Parallel()
	for _, r := range removals() {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			m, f := r.explore(t.Context())
			if f.breach.promise != r.promise {
				t.Fatalf("without it promise %d is broken (%q) after %d states, want promise %d", f.breach.promise, f.breach.says, f.states, r.promise)
			}
			var told bytes.Buffer
			m.printPath(&told, f.breach, f.path)
			if steps := strings.Count(told.String(), ". host ") + strings.Count(told.String(), ". store ") +
				strings.Count(told.String(), ". net "); steps != len(f.path) || steps < 2 {
				t.Errorf("%d steps are told of a path of %d:\n%s", steps, len(f.path), &told)
			}
		})
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
		{[]string{"-remove", "claim before work"}, 0, "promise 10 is broken"},
		{[]string{"-remove", "list"}, 0, "fence check in settle"},
		{[]string{"-remove", "nothing"}, 2, "-remove list names them"},
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
	for _, args := range [][]string{{"-only", "("}, {"-only", "no such scenario"}, {"-remove", "no such line"}, {"-attempts", "-1"}, {"-json", "-remove", "all"}, {"clocks"}} {
		var said bytes.Buffer
		if code := run(t.Context(), args, &said, &said); code != 2 || said.Len() == 0 {
			t.Errorf("%v: exit code %d and %q, want a refusal", args, code, said.String())
		}
	}
}
