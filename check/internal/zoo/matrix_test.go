package zoo_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/check/internal/zoo"
)

var (
	update = flag.Bool("update", false, "write docs/check-zoo.md")
	only   = flag.String("only", "", "look at animals only whose name has this")
	show   = flag.Bool("show", false, "print what every check made of every animal")
)

// keepers is how many animals are looked at together. Most of the time they wait.
const keepers = 10

// TestZoo runs every check on services whose mistake is known, and on some that
// have none: what fails must be what has to, no less and no more.
func TestZoo(t *testing.T) {
	t.Parallel()
	animals := slices.Concat(zoo.Healthy(), ownAnimals(t), zoo.Animals())
	animals = slices.DeleteFunc(animals, func(a zoo.Animal) bool { return !strings.Contains(a.Name, *only) })
	reports := make([]*check.Report, len(animals))
	free := make(chan struct{}, keepers)
	var all sync.WaitGroup
	for i, animal := range animals {
		all.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			reports[i] = watch(t, animal)
		})
	}
	all.Wait()
	for i, animal := range animals {
		if reports[i] != nil {
			judge(t, animal, reports[i])
		}
	}
}

// watch runs all checks on an animal; nil where it could not.
func watch(t *testing.T, animal zoo.Animal) *check.Report {
	t.Helper()
	home, err := animal.Setup()
	if err != nil {
		t.Errorf("%s: %v", animal.Name, err)
		return nil
	}
	defer home.Close()
	plan, err := check.NewPlan(home.Config)
	if err != nil {
		t.Errorf("%s: %v", animal.Name, err)
		return nil
	}
	report, err := plan.Run(t.Context())
	if err != nil {
		t.Errorf("%s: %v", animal.Name, err)
		return nil
	}
	return report
}

func judge(t *testing.T, animal zoo.Animal, report *check.Report) {
	t.Helper()
	var failed, open, lines []string
	for i := range report.Results {
		one := &report.Results[i]
		switch {
		case one.Verdict == check.Fail:
			failed = append(failed, one.ID)
		case one.Verdict == check.Incomplete && one.Level == check.LevelMust:
			open = append(open, one.ID)
		}
		if one.Verdict != check.Skipped && one.Reason != "" {
			lines = append(lines, fmt.Sprintf("  %-8s %-10s %s", one.ID, one.Verdict, one.Reason))
		}
	}
	seen := strings.Join(lines, "\n")
	if *show {
		t.Logf("%s (%s, %d of %d requests): caught %v, open %v\n%s", animal.Name, report.Took, report.Sent, report.Announced, failed, open, seen)
	}
	failed = slices.DeleteFunc(failed, func(id string) bool { return slices.Contains(animal.Depends, id) })
	if diff := cmp.Diff(slices.Sorted(slices.Values(animal.Caught)), failed, ignoreEmpty()); diff != "" {
		t.Errorf("%s (%s): caught (-want +got):\n%s\n%s", animal.Name, animal.Says, diff, seen)
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(animal.Open)), slices.Sorted(slices.Values(open)), ignoreEmpty()); diff != "" && len(animal.Caught) == 0 {
		t.Errorf("%s (%s): must hold and cannot be judged (-want +got):\n%s\n%s", animal.Name, animal.Says, diff, seen)
	}
	if report.Died != "" {
		t.Errorf("%s: died: %s", animal.Name, report.Died)
	}
	if report.Sent > report.Announced {
		t.Errorf("%s: sent %d requests, announced %d", animal.Name, report.Sent, report.Announced)
	}
}

func ignoreEmpty() cmp.Option {
	return cmp.Transformer("empty", func(s []string) map[string]bool {
		set := map[string]bool{}
		for _, one := range s {
			set[one] = true
		}
		return set
	})
}

const zooPage = "../../../docs/check-zoo.md"

// TestZooDocument: docs/check-zoo.md says what the animals are.
func TestZooDocument(t *testing.T) {
	t.Parallel()
	text := zooText(t)
	if *update {
		if err := os.WriteFile(zooPage, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(zooPage)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(text, string(got)); diff != "" {
		t.Errorf("%s is not up to date (run: go test ./check/internal/zoo -run TestZooDocument -update):\n%s", zooPage, diff)
	}
}

// zooText is the page.
func zooText(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(`# The zoo of ` + "`semel check`" + `

<!-- Written by: go test ./check/internal/zoo -run TestZooDocument -update -->

What is a check worth? Services whose mistake is known tell. Each of them is a small shop behind a layer of idempotency
that is right, but for one decision; the layer and its mistakes are in ` + "`check/internal/zoo`" + `. The test ` + "`TestZoo`" + ` runs every
check on every service. Those that fail must be those in the table: no fewer, and no more.

## What people write

| the mistake | who makes it, and why | found by |
|---|---|---|
`)
	finders := map[string]int{}
	for _, animal := range zoo.Animals() {
		found := ids(animal.Caught)
		if len(animal.Depends) > 0 {
			found += "; as it comes: " + ids(animal.Depends)
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", animal.Name, animal.Says, found)
		for _, id := range animal.Caught {
			finders[id]++
		}
	}
	b.WriteString(`
## What must not be accused

| the service | what it does | cannot be judged |
|---|---|---|
`)
	for _, animal := range slices.Concat(zoo.Healthy(), ownAnimals(t)) {
		open := ids(animal.Open)
		if animal.Why != "" {
			open += ": " + animal.Why
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", animal.Name, animal.Says, open)
	}
	b.WriteString(`
## Which check finds how many

| check | says | finds |
|---|---|---|
`)
	for _, one := range check.Catalog() {
		fmt.Fprintf(&b, "| %s | %s | %d |\n", one.ID, one.Says, finders[one.ID])
	}
	return b.String()
}

// ids lists the ids of checks, in order; three or more that follow each other are
// written as the first and the last of them.
func ids(all []string) string {
	var parts []string
	sorted := slices.Sorted(slices.Values(all))
	for i := 0; i < len(sorted); {
		end := i + 1
		for end < len(sorted) && follows(sorted[end-1], sorted[end]) {
			end++
		}
		if end-i < 3 {
			end = i + 1
			parts = append(parts, sorted[i])
		} else {
			parts = append(parts, sorted[i]+"…"+sorted[end-1][len(sorted[end-1])-2:])
		}
		i = end
	}
	return strings.Join(parts, ", ")
}

func follows(one, next string) bool {
	name, number, _ := strings.Cut(one, "-")
	n, err := strconv.Atoi(number)
	return err == nil && next == fmt.Sprintf("%s-%02d", name, n+1)
}

// TestZooKnowsEveryCheck: a check that finds nothing may be good for nothing.
func TestZooKnowsEveryCheck(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	for _, animal := range zoo.Animals() {
		for _, id := range animal.Caught {
			found[id] = true
		}
	}
	for _, one := range check.Catalog() {
		if !found[one.ID] {
			t.Errorf("%s (%s) finds no animal: add one with the mistake", one.ID, one.Says)
		}
		delete(found, one.ID)
	}
	for id := range found {
		t.Errorf("an animal should be caught by %s, which is no check", id)
	}
}
