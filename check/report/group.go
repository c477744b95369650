package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/semel-dev/semel/check"
)

// group is the results about one thing, or for one reason.
type group struct {
	Name    string
	Results []*check.Result
}

func groups(r *check.Report) []group {
	return grouped(r, func(one *check.Result) (string, bool) { return one.Group, true })
}

// reasons groups the results with a verdict by their reason, and echoes by the check that failed for the same reason.
func reasons(r *check.Report, v check.Verdict) []group {
	return grouped(r, func(one *check.Result) (string, bool) {
		if v == check.Echo {
			return one.EchoOf, one.Verdict == v
		}
		return one.Reason, one.Verdict == v
	})
}

func grouped(r *check.Report, name func(*check.Result) (string, bool)) []group {
	var all []group
	for i := range r.Results {
		of, ok := name(&r.Results[i])
		if !ok {
			continue
		}
		at := slices.IndexFunc(all, func(g group) bool { return g.Name == of })
		if at < 0 {
			all, at = append(all, group{Name: of}), len(all)
		}
		all[at].Results = append(all[at].Results, &r.Results[i])
	}
	return all
}

// IDs returns the ids of the checks.
func (g *group) IDs() []string {
	ids := make([]string, len(g.Results))
	for i, one := range g.Results {
		ids[i] = one.ID
	}
	return ids
}

func (g *group) count(v check.Verdict) int {
	n := 0
	for _, one := range g.Results {
		if one.Verdict == v {
			n++
		}
	}
	return n
}

// Summary returns, for example, "8 passed, 1 failed".
func (g *group) Summary() string { return summary(g.count) }

// summary lists the verdicts that occur, the worst first.
func summary(number func(check.Verdict) int) string {
	var parts []string
	for _, v := range verdicts() {
		switch n := number(v); {
		case n == 0:
		case v == check.Echo:
			parts = append(parts, count(n, "echo"))
		default:
			parts = append(parts, fmt.Sprintf("%d %s", n, verdictText(v)))
		}
	}
	return strings.Join(parts, ", ")
}

func verdicts() []check.Verdict {
	return []check.Verdict{check.Fail, check.Echo, check.Incomplete, check.Known, check.Pass, check.Skipped}
}

func verdictText(v check.Verdict) string {
	switch v {
	case check.Pass:
		return "passed"
	case check.Fail:
		return "failed"
	case check.Incomplete:
		return "not judged"
	case check.Known:
		return "known to fail"
	case check.Echo:
		return "echo"
	case check.Skipped:
		return "skipped"
	}
	return string(v)
}

// effort describes the cost of the run, in two or three sentences.
func effort(r *check.Report) []string {
	lines := []string{fmt.Sprintf("%s sent of at most %d announced, and %s, in %s.",
		count(r.Sent, "request"), r.Announced, count(r.LookUps, "look-up"), duration(r.Took))}
	if r.Sent > 0 {
		left := fmt.Sprintf("The run left up to %s behind", count(r.Sent, "record"))
		if profile, ok := check.ProfileNamed(r.Profile); ok && profile.Key.In != "nowhere" && profile.Key.In != "template" {
			left += fmt.Sprintf(", under %s that begin with semel-check-", count(r.Intents, "key"))
		}
		lines = append(lines, left+".")
	}
	return lines
}

func duration(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%dms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1fs", d.Seconds())
}
