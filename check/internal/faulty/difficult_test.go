package faulty_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/check/internal/faulty"
	checkreport "github.com/semel-dev/semel/check/report"
)

// TestDifficultServices: a service without a mistake is not accused, however it limits, refuses or delays requests, and
// a check that cannot tell says why.
func TestDifficultServices(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	free := make(chan struct{}, atOnce)
	for _, service := range faulty.Difficult() {
		if !strings.Contains(service.Name, *only) {
			continue
		}
		all.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			report := watch(t, service)
			if report == nil {
				return
			}
			judged := report.Count(check.Pass)
			for i := range report.Results {
				one := &report.Results[i]
				switch {
				case one.Verdict == check.Fail, one.Verdict == check.Echo:
					t.Errorf("%s: %s is accused: %s", service.Name, one.ID, one.Reason)
				case service.Name == "very long answers" && one.Verdict == check.Pass && slices.Contains([]string{"BASIC-04", "BASIC-10", "RACE-06", "LOST-05"}, one.ID):
					t.Errorf("%s: %s passes, although it compared parts only", service.Name, one.ID)
				case one.Verdict == check.Incomplete && one.Reason == "":
					t.Errorf("%s: %s has no reason", service.Name, one.ID)
				case *show && one.Verdict == check.Incomplete:
					t.Logf("%s: %s: %s", service.Name, one.ID, one.Reason)
				}
			}
			t.Logf("%s: %d passed, %d were not judged, %d of %d requests in %s; %q", service.Name, judged, report.Count(check.Incomplete), report.Sent, report.Announced, report.Took, report.Notes)
			if strings.HasSuffix(service.Name, "then 401") && report.Sent > 80 {
				t.Errorf("%s: %d requests, although all are refused after the sixtieth", service.Name, report.Sent)
			}
			if report.Sent > report.Announced || report.Died != "" {
				t.Errorf("%s: %d of %d requests, died: %q", service.Name, report.Sent, report.Announced, report.Died)
			}
		})
	}
	all.Wait()
}

// TestReplaysInDisguise: services whose replays have another shape than first answers, and which give them to others,
// are found in every run of the tests.
func TestReplaysInDisguise(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	for _, service := range faulty.Services() {
		if strings.HasPrefix(service.Name, "a replay in ") || service.Name == "no key is a key" || service.Name == "keys have no owner, after a slow look-up" || service.Name == "a duplicate is another status" {
			all.Go(func() {
				if report := watch(t, service); report != nil {
					judge(t, service, report)
				}
			})
		}
	}
	all.Wait()
}

// mostLines is the length of a report whose failures follow from one.
const mostLines = 40

// TestReportOfOneCause: the report about a service without keys names the cause, and which failures follow from it, on
// one page; asked for details, it has all of them.
func TestReportOfOneCause(t *testing.T) {
	t.Parallel()
	all := faulty.Services()
	at := slices.IndexFunc(all, func(s faulty.Service) bool { return s.Name == "ignores keys" })
	report := watch(t, changed(func(c *check.Config) { c.Level = check.LevelShould }, all[at]))
	if report == nil {
		return
	}
	written := func(o *checkreport.TextOptions) string {
		var text strings.Builder
		if err := checkreport.Text(&text, report, o); err != nil {
			t.Error(err)
		}
		return text.String()
	}
	text, long := written(nil), written(&checkreport.TextOptions{Verbose: true})
	if lines := strings.Count(text, "\n"); lines > mostLines {
		t.Errorf("%d lines:\n%s", lines, text)
	}
	if n := strings.Count(text, "FAIL "); n != 1 || !strings.Contains(text, "Begin with BASIC-02, from which") {
		t.Errorf("%d failures in full:\n%s", n, text)
	}
	for i := range report.Results {
		one := &report.Results[i]
		if one.Verdict == check.Fail && (!strings.Contains(text, one.ID) || !strings.Contains(long, "FAIL "+one.ID)) {
			t.Errorf("%s is missing", one.ID)
		}
	}
}
