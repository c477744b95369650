package apps

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/check/report"
)

const (
	checkTimeout = 2 * time.Minute
	// checkParallel is enough for races, and not too much for one machine with
	// several applications on it.
	checkParallel = 20
)

// Check runs the checks of an application with a profile, such as "ietf". What
// the configuration leaves open is chosen so that tests take seconds.
func Check(tb testing.TB, profile string, c *check.Config) *check.Report {
	tb.Helper()
	named, ok := check.ProfileNamed(profile)
	if !ok {
		tb.Fatalf("unknown profile %q", profile)
	}
	c.Profile = named
	if c.Parallel == 0 {
		c.Parallel = checkParallel
	}
	plan, err := check.NewPlan(*c)
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithTimeoutCause(tb.Context(), checkTimeout, errors.New("the checks take too long"))
	defer cancel()
	found, err := plan.Run(ctx)
	if err != nil {
		tb.Fatal(err, context.Cause(ctx))
	}
	tb.Logf("%s, %s: %d requests and %d look-ups in %v\n%s", found.Target, found.Profile, found.Sent, found.LookUps, found.Took.Round(time.Millisecond), report.Headline(found))
	for i := range found.Results {
		if one := &found.Results[i]; one.Verdict != check.Pass && one.Verdict != check.Skipped {
			tb.Logf("%-10s %s %s: %s", one.Verdict, one.ID, one.Level, one.Reason)
		}
	}
	return found
}

// Wants reports what differs from the ids that are to fail, separated by white
// space and in the order of the catalogue, and from how the headline of the
// report ends. Nothing that must hold may be left open.
func Wants(tb testing.TB, r *check.Report, failed, headline string) {
	tb.Helper()
	if diff := cmp.Diff(of(r, check.Fail), strings.Fields(failed), cmpopts.EquateEmpty()); diff != "" {
		tb.Errorf("failed, got (-) and want (+):\n%s", diff)
	}
	if got := report.Headline(r); !strings.HasSuffix(got, headline) {
		tb.Errorf("got the headline %q, want %q at its end", got, headline)
	}
	for i := range r.Results {
		if one := &r.Results[i]; one.Level == check.LevelMust && one.Verdict == check.Incomplete {
			tb.Errorf("%s was not judged: %s", one.ID, one.Reason)
		}
	}
}

// of are the ids of the checks that came to a verdict.
func of(r *check.Report, verdict check.Verdict) []string {
	var ids []string
	for i := range r.Results {
		if r.Results[i].Verdict == verdict {
			ids = append(ids, r.Results[i].ID)
		}
	}
	return ids
}
