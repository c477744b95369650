package faulty_test

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
	"github.com/semel-dev/semel/check/internal/faulty"
)

var (
	update = flag.Bool("update", false, "write docs/check-faulty.md")
	only   = flag.String("only", "", "look at services only whose name has this")
	show   = flag.Bool("show", false, "print what every check made of every service")
)

// atOnce limits the services that are checked in parallel. They mostly wait.
const atOnce = 16

// TestFaultyServices runs every check on services with a known fault, and on some without: exactly the checks that are
// listed for a service must fail. With SEMEL_LONG=1 every check runs on every service; otherwise each runs on some
// correct service, and on one that it must fail.
func TestFaultyServices(t *testing.T) {
	t.Parallel()
	services := slices.Concat(faulty.Healthy(), ownServices(t), faulty.Services())
	if os.Getenv("SEMEL_LONG") != "1" && *only == "" {
		services = few(t)
	}
	services = slices.DeleteFunc(services, func(a faulty.Service) bool { return !strings.Contains(a.Name, *only) })
	reports := make([]*check.Report, len(services))
	free := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i, service := range services {
		all.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			reports[i] = watch(t, service)
		})
	}
	all.Wait()
	passed := map[string]bool{}
	for i, service := range services {
		if reports[i] == nil {
			continue
		}
		judge(t, service, reports[i])
		for j := range reports[i].Results {
			one := &reports[i].Results[j]
			passed[one.ID] = passed[one.ID] || one.Verdict == check.Pass
		}
	}
	for id, once := range passed {
		if !once && *only == "" {
			t.Errorf("%s passes on none of these services: add a correct one on which it does", id)
		}
	}
}

// few returns correct services that together make every check run, and for each check a service that it must fail; only
// such checks run on that service.
func few(t *testing.T) []faulty.Service {
	t.Helper()
	correct := []string{"members and cookies", "all answers are stored", "parts", "mortal", "expiring", "a page", "a receiver", "only stops duplicates", "numbers are unique", "409 at once", "semelhttp", "the gateway"}
	chosen := slices.DeleteFunc(slices.Concat(faulty.Healthy(), ownServices(t)), func(s faulty.Service) bool { return !slices.Contains(correct, s.Name) })
	left := map[string]bool{}
	for _, one := range check.Catalog() {
		left[one.ID] = true
	}
	all := faulty.Services()
	slices.SortStableFunc(all, func(a, b faulty.Service) int { return len(b.Caught) - len(a.Caught) })
	for _, service := range all {
		caught := slices.DeleteFunc(slices.Clone(service.Caught), func(id string) bool { return !left[id] })
		if len(caught) == 0 {
			continue
		}
		for _, id := range caught {
			delete(left, id)
		}
		chosen = append(chosen, asked(service, caught))
	}
	return chosen
}

// asked returns the service with these checks only.
func asked(service faulty.Service, ids []string) faulty.Service {
	narrow := changed(func(c *check.Config) { c.Only = ids }, service)
	narrow.Caught, narrow.Echoes = ids, nil
	return narrow
}

// watch runs all checks on a service; nil if that failed.
func watch(t *testing.T, service faulty.Service) *check.Report {
	t.Helper()
	running, err := service.Start()
	if err != nil {
		t.Errorf("%s: %v", service.Name, err)
		return nil
	}
	defer running.Close()
	plan, err := check.NewPlan(running.Config)
	if err != nil {
		t.Errorf("%s: %v", service.Name, err)
		return nil
	}
	report, err := plan.Run(t.Context())
	if err != nil {
		t.Errorf("%s: %v", service.Name, err)
		return nil
	}
	return report
}

func judge(t *testing.T, service faulty.Service, report *check.Report) {
	t.Helper()
	var failed, echoes, open, lines []string
	for i := range report.Results {
		one := &report.Results[i]
		switch {
		case one.Verdict == check.Fail:
			failed = append(failed, one.ID)
		case one.Verdict == check.Echo:
			echoes = append(echoes, one.ID)
		case one.Verdict == check.Incomplete && one.Level == check.LevelMust:
			open = append(open, one.ID)
		}
		if one.Verdict != check.Skipped && one.Reason != "" {
			lines = append(lines, fmt.Sprintf("  %-8s %-10s %s", one.ID, one.Verdict, one.Reason))
		}
	}
	seen := strings.Join(lines, "\n")
	if *show {
		t.Logf("%s (%s, %d of %d requests): caught %v, open %v\n%s", service.Name, report.Took, report.Sent, report.Announced, failed, open, seen)
	}
	depends := func(id string) bool { return slices.Contains(service.Depends, id) }
	failed, echoes = slices.DeleteFunc(failed, depends), slices.DeleteFunc(echoes, depends)
	if diff := cmp.Diff(service.Echoes, echoes, ignoreEmpty()); diff != "" {
		t.Errorf("%s (%s): echoes (-want +got):\n%s\n%s", service.Name, service.Says, diff, seen)
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(service.Caught)), failed, ignoreEmpty()); diff != "" {
		t.Errorf("%s (%s): caught (-want +got):\n%s\n%s", service.Name, service.Says, diff, seen)
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(service.Open)), slices.Sorted(slices.Values(open)), ignoreEmpty()); diff != "" && len(service.Caught) == 0 {
		t.Errorf("%s (%s): must hold and cannot be judged (-want +got):\n%s\n%s", service.Name, service.Says, diff, seen)
	}
	if report.Died != "" {
		t.Errorf("%s: died: %s", service.Name, report.Died)
	}
	if report.Sent > report.Announced {
		t.Errorf("%s: sent %d requests, announced %d", service.Name, report.Sent, report.Announced)
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

const page = "../../../docs/check-faulty.md"

// TestDocument: docs/check-faulty.md describes the services.
func TestDocument(t *testing.T) {
	t.Parallel()
	text := pageText(t)
	if *update {
		if err := os.WriteFile(page, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(text, string(got)); diff != "" {
		t.Errorf("%s is not up to date (run: go test ./check/internal/faulty -run TestDocument -update):\n%s", page, diff)
	}
}

// pageText returns the page.
func pageText(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(`# Faulty services: what keeps ` + "`semel check`" + ` honest

<!-- Written by: go test ./check/internal/faulty -run TestDocument -update -->

Services with a known mistake show what each check is worth. Read this page when you doubt a finding of [semel check](check.md), or add a check.
Each service is a small shop behind an idempotency layer that is right but for one decision. To watch the checks on one of them:

` + "```sh" + `
go test ./check/internal/faulty -run TestFaultyServices -v -only 'a replay is 200' -show
` + "```" + `

With ` + "`SEMEL_LONG=1`" + ` and no ` + "`-only`" + `, it runs every check on every service. The checks that fail must be those in the table: no fewer, and no more.
*Seen again by* lists [echoes](check.md#reports), *as it comes* the checks that depend on timing.

## What people write

| the mistake | why people make it | found by |
|---|---|---|
`)
	finders := map[string]int{}
	for _, service := range faulty.Services() {
		found := ids(service.Caught)
		if len(service.Echoes) > 0 {
			found += "; seen again by " + ids(service.Echoes)
		}
		if len(service.Depends) > 0 {
			found += "; as it comes: " + ids(service.Depends)
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", service.Name, service.Says, found)
		for _, id := range service.Caught {
			finders[id]++
		}
	}
	b.WriteString(`
## What must not be accused

| the service | what it does | cannot be judged |
|---|---|---|
`)
	for _, service := range slices.Concat(faulty.Healthy(), ownServices(t)) {
		open := ids(service.Open)
		if service.Why != "" {
			open += ": " + service.Why
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", service.Name, service.Says, open)
	}
	b.WriteString(`
## What is hard to judge

None of these is accused: a check passes, or is not judged, with the reason.

| the service | what it does |
|---|---|
`)
	for _, service := range faulty.Difficult() {
		fmt.Fprintf(&b, "| %s | %s |\n", service.Name, service.Says)
	}
	b.WriteString(`
## Which check finds how many

Behind each [check](check.md#all-checks) is the number of services that it finds.

| group | checks |
|---|---|
` + found(finders) + `
## What it does not do

- It does not try every mistake: an application can be wrong in a way that no check looks for.
- Without ` + "`SEMEL_LONG=1`" + ` the test is a sample: each check runs on some correct service, and on one that it must fail.
`)
	return b.String()
}

// found lists the numbers of services that checks find, a line for each group.
func found(finders map[string]int) string {
	var b strings.Builder
	var group string
	for _, one := range check.Catalog() {
		prefix, number, _ := strings.Cut(one.ID, "-")
		switch {
		case prefix == group:
			b.WriteString(", ")
		case group == "":
			fmt.Fprintf(&b, "| %s | ", prefix)
		default:
			fmt.Fprintf(&b, " |\n| %s | ", prefix)
		}
		group = prefix
		fmt.Fprintf(&b, "%s: %d", number, finders[one.ID])
	}
	return b.String() + " |\n"
}

// ids lists the ids of checks, in order; three or more consecutive ones are written as the first and the last.
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

// TestEveryCheckFindsAFault: a check that finds nothing may be useless.
func TestEveryCheckFindsAFault(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	for _, service := range faulty.Services() {
		for _, id := range service.Caught {
			found[id] = true
		}
	}
	for _, one := range check.Catalog() {
		if !found[one.ID] {
			t.Errorf("%s (%s) finds no faulty service: add one with the mistake", one.ID, one.Says)
		}
		delete(found, one.ID)
	}
	for id := range found {
		t.Errorf("a service should be caught by %s, which is not a check", id)
	}
}
