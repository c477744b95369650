package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/semel-dev/semel/check"
)

// group is the results about one thing.
type group struct {
	Name    string
	Results []*check.Result
}

// groups returns the results by group, in their order.
func groups(r *check.Report) []group {
	var all []group
	place := map[string]int{}
	for i := range r.Results {
		one := &r.Results[i]
		at, ok := place[one.Group]
		if !ok {
			at = len(all)
			place[one.Group] = at
			all = append(all, group{Name: one.Group})
		}
		all[at].Results = append(all[at].Results, one)
	}
	return all
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

// verdictText returns the word for people.
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

// reason is one cause that several checks share.
type reason struct {
	Text string
	IDs  []string
}

// reasons groups the results with a verdict by their reason.
func reasons(r *check.Report, v check.Verdict) []reason {
	var all []reason
	place := map[string]int{}
	for i := range r.Results {
		one := &r.Results[i]
		if one.Verdict != v {
			continue
		}
		at, ok := place[one.Reason]
		if !ok {
			at = len(all)
			place[one.Reason] = at
			all = append(all, reason{Text: one.Reason})
		}
		all[at].IDs = append(all[at].IDs, one.ID)
	}
	return all
}

// echoes groups the echoes by the check that failed for the same reason.
func echoes(r *check.Report) []reason {
	var all []reason
	for i := range r.Results {
		one := &r.Results[i]
		if one.Verdict != check.Echo {
			continue
		}
		at := slices.IndexFunc(all, func(of reason) bool { return of.Text == one.EchoOf })
		if at < 0 {
			all, at = append(all, reason{Text: one.EchoOf}), len(all)
		}
		all[at].IDs = append(all[at].IDs, one.ID)
	}
	return all
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
