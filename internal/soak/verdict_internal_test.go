package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// found is a run with these values.
func found(of func(i, column int) float64) *series {
	s := &series{store: sqlite, rate: 100}
	for i := range 100 {
		one := sample{at: time.Duration(i) * time.Second, served: int64(i)}
		for column := range columns {
			one.values[column] = of(i, column)
		}
		s.add(one)
	}
	return s
}

// A run fails where something grows or is hardly seen, where an intent took
// effect twice or was answered differently, and where callers get no answer.
func TestVerdict(t *testing.T) {
	t.Parallel()
	level := func(int, int) float64 { return 1000 }
	once := func() *app { return &app{effects: 7} }
	if r := judge(found(level), &crowd{}, once()); !r.holds() {
		t.Error("a flat run fails")
	}
	for column, title := range titles() {
		grows := func(i, of int) float64 {
			if of == column {
				return 1000 + 15*float64(i)
			}
			return 1000
		}
		gone := func(_, of int) float64 {
			if of == column {
				return -1
			}
			return 1000
		}
		for name, of := range map[string]func(int, int) float64{"grows": grows, "is never seen": gone} {
			if r := judge(found(of), &crowd{}, once()); r.holds() || r.flat(column) {
				t.Errorf("%s %s, and the run holds", title, name)
			}
		}
	}
	var silent, cutOff crowd
	silent.gaveUp.Store(mostGiveUp + 1)
	cutOff.gaveUp.Store(mostGiveUp)
	if r := judge(found(level), &cutOff, once()); !r.holds() {
		t.Error("a run whose end cuts callers off fails")
	}
	for name, r := range map[string]*report{
		"gateways that stop to answer": judge(found(level), &silent, once()),
		"two effects":                  judge(found(level), &crowd{}, &app{effects: 8, twice: []string{"soak-7"}}),
		"different answers":            judge(found(level), &crowd{unlike: []string{"soak-7"}}, once()),
		"no effect":                    judge(found(level), &crowd{}, &app{}),
	} {
		var out bytes.Buffer
		r.print(&out)
		if r.holds() || strings.Contains(out.String(), "nothing grows") {
			t.Errorf("a run with %s holds:\n%s", name, out.String())
		}
	}
}

// An effect is counted for as long as its retry can come.
func TestEffects(t *testing.T) {
	t.Parallel()
	a := &app{recent: map[string]int{}, older: map[string]int{}, turned: time.Now()}
	a.effect("one")
	a.turned = a.turned.Add(-2 * retention)
	a.effect("another")
	if effects, twice := a.found(); effects != 2 || len(twice) != 0 {
		t.Fatalf("%d effects, twice: %v", effects, twice)
	}
	a.effect("one")
	if effects, twice := a.found(); effects != 3 || len(twice) != 1 {
		t.Errorf("%d effects, twice: %v", effects, twice)
	}
}

// The command starts gateways on a store in files, disturbs them, and leaves
// samples and a chart.
func TestPlay(t *testing.T) {
	t.Chdir("../..") // where it builds semel
	s := &settings{long: 15 * time.Second, store: sqlite, out: t.TempDir(), rate: 100}
	r, err := s.play(t.Context(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	if len(r.twice)+len(r.unlike) > 0 || r.effects == 0 {
		r.print(t.Output())
		t.Error("a promise was broken, or nothing happened")
	}
	for _, name := range []string{"soak-sqlite.csv", "soak-sqlite.svg"} {
		if text, err := os.ReadFile(filepath.Join(s.out, name)); err != nil || !strings.Contains(string(text), "goroutines") {
			t.Errorf("%s: %v\n%.200s", name, err, text)
		}
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-for", "soon"}, {"-for", "1s"}, {"-store", "oracle"}, {"-rate", "-1"}, {"sqlite"}} {
		var stderr bytes.Buffer
		if code := run(t.Context(), args, os.Stdout, &stderr); code != 2 || stderr.Len() == 0 {
			t.Errorf("%v: exit code %d and %q, want 2 and a reason", args, code, stderr.String())
		}
	}
}
