package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSum: silence, an unfinished attack and a violation each break a promise.
func TestSum(t *testing.T) {
	t.Parallel()
	good := evidence{Attack: "model: two hosts", Promises: []int{1, 2}, Operations: 5, Faults: 1}
	all := []evidence{
		good,
		{Attack: "histories: redis", Promises: []int{2, 3, 4}, Operations: 7, Faults: 2, Violations: 1},
		{Attack: "torture: sqlite", Promises: []int{5}, Error: "could not start"},
		{Attack: "histories: mysql", Promises: []int{6}, Operations: 3, Undecided: 1},
		{Attack: "tests: TestNothing", Promises: []int{7}},
	}
	lines := sum(all, map[int]string{1: "One"})
	got := map[int][]string{}
	for _, l := range lines {
		got[l.promise] = l.broken
	}
	silent := []string{"nothing attacks it"}
	want := map[int][]string{
		1: nil, 2: {"histories: redis"}, 3: {"histories: redis"}, 4: {"histories: redis"}, 5: {"torture: sqlite"},
		6: {"histories: mysql"}, 7: {"tests: TestNothing"}, 8: silent, 9: silent, 10: silent,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("broken (-want +got):\n%s", diff)
	}
	if l := lines[1]; l.operations != 12 || l.faults != 3 || l.violations != 1 || strings.Join(l.attacks, " ") != "model (1) histories (1)" {
		t.Errorf("promise 2: %+v", l)
	}
}

// TestJudge: a test that is named but did not run breaks its promise.
func TestJudge(t *testing.T) {
	t.Parallel()
	passed, failed, err := readEvents(strings.NewReader(`{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestA/part"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p","Test":"TestB"}
{"Action":"skip","Package":"p","Test":"TestC"}
{"Action":"pass","Package":"p"}
`))
	if err != nil {
		t.Fatal(err)
	}
	g := guarantees{tests: map[int][]string{1: {"TestA"}, 2: {"TestB"}, 3: {"TestC"}}}
	want := []evidence{
		{Attack: "tests: TestA", Promises: []int{1}, Operations: 2},
		{Attack: "tests: TestB", Promises: []int{2}, Operations: 1, Violations: 1},
		{Attack: "tests: TestC", Promises: []int{3}, Error: "it did not run"},
	}
	if diff := cmp.Diff(want, judge(g, passed, failed)); diff != "" {
		t.Errorf("evidence (-want +got):\n%s", diff)
	}
}

// TestGuarantees reads the document itself.
func TestGuarantees(t *testing.T) {
	t.Parallel()
	g, err := readGuarantees(filepath.Join("..", "..", guaranteesFile))
	if err != nil {
		t.Fatal(err)
	}
	if len(g.titles) != promises || !strings.Contains(g.titles[1], "claim") {
		t.Errorf("titles: %v", g.titles)
	}
	broken := filepath.Join(t.TempDir(), "guarantees.md")
	if err := os.WriteFile(broken, []byte("## 1. One\n\n`TestA`\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readGuarantees(broken); err == nil {
		t.Error("a document that lacks nine promises was read")
	}
}

// TestReadEvidence: what is no evidence is an error.
func TestReadEvidence(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "{}", `{"results":[]}`, "seed 5"} {
		if found, err := readEvidence("model", []byte(text)); err == nil {
			t.Errorf("%q: got %v", text, found)
		}
	}
	found, err := readEvidence("model", []byte(`{"results":[{"scenario":"two hosts","promises":[1],"operations":5}]}`))
	if err != nil || found[0].Attack != "model: two hosts" || found[0].broken() {
		t.Errorf("got %+v, %v", found, err)
	}
}

// TestUsage: what makes no sense, or would prove nothing, is refused.
func TestUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-for", "soon"}, {"-for", "0s"}, {"model"}} {
		var said bytes.Buffer
		if code := run(t.Context(), args, &said, &said); code != 2 || said.Len() == 0 {
			t.Errorf("%v: exit code %d and %q, want a refusal", args, code, said.String())
		}
	}
}
