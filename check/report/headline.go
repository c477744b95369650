package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/semel-dev/semel/check"
)

// Headline summarises the run in one sentence for a reader who knows nothing about keys, such as that 3 of 41 checks
// failed because a repeated request is executed again.
func Headline(r *check.Report) string {
	failed, known, open := r.Count(check.Fail), r.Count(check.Known), r.Count(check.Incomplete)
	all := len(r.Results) - r.Count(check.Skipped)
	switch {
	case r.Died != "":
		return fmt.Sprintf("The service stopped answering during the checks: %s.", strings.TrimSuffix(r.Died, "."))
	case failed > 0:
		return fmt.Sprintf("%d of %s failed: %s.", failed, count(all, "check"), consequence(r))
	case all == 0:
		return "No check ran."
	case open > 0 && open == all:
		return fmt.Sprintf("Nothing is known yet: %s could not be judged.", count(all, "check"))
	case open > 0:
		return fmt.Sprintf("Nothing failed, but %d of %s could not be judged.", open, count(all, "check"))
	case known > 0:
		return fmt.Sprintf("Nothing new failed: %d of %s failed as the baseline expects.", known, count(all, "check"))
	case all == 1:
		return "The only check passed."
	}
	return fmt.Sprintf("All %d checks passed: what was sent twice happened once.", all)
}

func consequence(r *check.Report) string {
	for _, c := range consequences() {
		for i := range r.Results {
			if one := &r.Results[i]; one.Verdict == check.Fail && !one.ServerError && slices.ContainsFunc(c.of, func(id string) bool { return strings.HasPrefix(one.ID, id) }) {
				return c.text(one.Effects)
			}
		}
	}
	at := slices.IndexFunc(r.Results, func(one check.Result) bool { return one.Verdict == check.Fail })
	if slices.ContainsFunc(r.Results, func(one check.Result) bool { return one.Verdict == check.Fail && one.ServerError }) {
		return "a request that should be accepted or refused is answered with a server error"
	}
	return fmt.Sprintf("see %s, %q", r.Results[at].ID, strings.TrimSuffix(r.Results[at].Says, "."))
}

// manyFailures is the number of failures from which the report says where to begin.
const manyFailures = 4

// start returns the id of the failure to look at first, if there are many; empty if they have no order.
func start(r *check.Report) string {
	if r.Count(check.Fail) < manyFailures {
		return ""
	}
	for _, id := range []string{"BASIC-01", "FORM-01", "HOOK-01", "BASIC-02"} {
		if slices.ContainsFunc(r.Results, func(one check.Result) bool { return one.ID == id && one.Verdict == check.Fail }) {
			return id
		}
	}
	return ""
}

// cause is a failure from which others follow.
type cause struct {
	id   string
	rest []string // the ids of those
}

// folded returns the failure to look at first together with those that it explains: if what is repeated is executed
// again, whatever repeats finds a second effect, or another answer. A server error and a missing effect have other
// reasons, and so has an answer that belongs to another user.
func folded(r *check.Report) cause {
	c := cause{id: start(r)}
	at := slices.IndexFunc(r.Results, func(one check.Result) bool { return one.ID == c.id })
	if at < 0 || r.Results[at].Effects != "more" || c.id == "BASIC-01" {
		return c
	}
	for i := range r.Results {
		one := &r.Results[i]
		follows := slices.ContainsFunc([]string{"BASIC-", "KEY-", "MIS-", "RACE-", "LOST-", "SIZE-", "FORM-"}, func(group string) bool {
			return strings.HasPrefix(one.ID, group)
		})
		if i != at && one.Verdict == check.Fail && !one.ServerError && one.Effects != "fewer" && follows {
			c.rest = append(c.rest, one.ID)
		}
	}
	return c
}

// meaning is the consequence of a failure of one of these checks.
type meaning struct {
	says string   // true for every way in which they fail that has no words of its own
	of   []string // ids, or prefixes of ids
	// more and fewer replace says if there were more or fewer effects than there must be, unless they are empty.
	more, fewer string
}

// text returns the words for a failure with these [check.Result.Effects].
func (m *meaning) text(effects string) string {
	switch effects {
	case "more":
		return cmp.Or(m.more, m.says)
	case "fewer":
		return cmp.Or(m.fewer, m.says)
	}
	return m.says
}

// noEffect is the consequence of fewer effects, where a second one was looked for.
const noEffect = "a request that should be executed has no effect"

// consequences returns them by severity, after those that make everything else uncertain. Every check has one.
func consequences() []meaning { return slices.Concat(doneTwice(), mixedUp(), toldWrongly()) }

func doneTwice() []meaning {
	return []meaning{
		{
			"even two plain requests do not work as they should",
			[]string{"BASIC-01"},
			"a plain request has more than one effect", "a plain request has no effect",
		},
		{"a repeated request is executed again", []string{"BASIC-02"}, "", noEffect},
		{"submitting a form twice makes two records", []string{"FORM-01", "FORM-03"}, "", noEffect},
		{"a repeated delivery is refused", []string{"HOOK-01"}, "a repeated delivery is processed again", noEffect},
		{says: "one user is given the answer of another", of: []string{"SCOPE-01", "SCOPE-03"}},
		{says: "deliveries without a valid signature are processed", of: []string{"HOOK-02"}},
		{
			"requests that arrive together are executed more than once",
			[]string{"RACE-01", "RACE-02", "RACE-03", "RACE-04", "RACE-05", "UNIQ-03"},
			"", "of requests that arrive together, some are never executed",
		},
		{
			"after a failure, a request is answered wrongly",
			[]string{"ERR-02", "ERR-03", "ERR-04", "HOOK-06", "HOOK-07"},
			"after a failure, a request is executed twice", "after a failure, a request is lost",
		},
		{says: "success is reported for something that never happened", of: []string{"UNIQ-02"}},
		{
			"after a lost answer, a retry does not get the answer",
			[]string{"LOST-"},
			"after a lost answer, a retry is executed again", "after a lost answer, a request is lost although it is retried",
		},
		{
			"when the service is restarted or killed, a request loses its answer",
			[]string{"OP-"},
			"when the service is restarted or killed, a request is executed again", "when the service is restarted or killed, a request is lost",
		},
	}
}

func mixedUp() []meaning {
	return []meaning{
		{says: "different requests are treated as the same", of: []string{"BASIC-06", "BASIC-07", "KEY-02", "KEY-06", "KEY-09", "KEY-10", "KEY-11", "FORM-04", "FORM-05", "HOOK-05", "SIZE-07"}},
		{says: "other data under a known key is executed", of: []string{"MIS-01", "MIS-11"}, fewer: noEffect},
		{says: "a repeated request in another spelling is executed again", of: []string{"MIS-08", "MIS-09"}, fewer: noEffect},
		{says: "the answer to one request is given to another", of: []string{"MIS-02", "MIS-04", "MIS-05", "MIS-06"}},
		{says: "a body of unusual size or form is executed again, or answered differently", of: []string{"SIZE-"}, fewer: noEffect},
		{says: "a cookie is stored with an answer, and given out again", of: []string{"SCOPE-04"}},
		{says: "one user blocks another", of: []string{"SCOPE-02", "SCOPE-05"}},
		{says: "a request that was refused once is refused for ever, or treated as done", of: []string{"ERR-01", "ERR-05", "HOOK-03"}, more: "a request that was refused has an effect"},
		{says: "one of many repetitions is executed again, or answered differently", of: []string{"BASIC-10"}, fewer: noEffect},
	}
}

func toldWrongly() []meaning {
	return []meaning{
		{says: "a repetition gets another answer than the first", of: []string{"BASIC-03", "BASIC-04", "BASIC-05", "BASIC-12", "FORM-02", "RACE-06", "RACE-09", "MIS-10"}},
		{says: "a person who sends a form twice sees an error", of: []string{"FORM-06"}},
		{says: "a key that expired is answered wrongly", of: []string{"EXP-"}},
		{says: "an effect happened late, after the checks counted", of: []string{"LAST-01"}},
		{says: "different requests at once block one another", of: []string{"RACE-08"}},
		{says: "the same values under another key cause a server error", of: []string{"UNIQ-01"}},
		{says: "the answer to a duplicate does not say that it is one", of: []string{"BASIC-13"}},
		{says: "the answer to a new request says that it is a repetition", of: []string{"BASIC-09"}},
		{says: "old deliveries are processed", of: []string{"HOOK-04"}},
		{says: "one key in two spellings counts as two", of: []string{"KEY-03", "KEY-13"}},
		{says: "unusual keys are not handled as they should be", of: []string{"KEY-"}},
		{says: "a misused key is not refused as it should be", of: []string{"MIS-03", "MIS-07", "MIS-12"}},
		{says: "a refusal does not name the existing record, or the time to retry", of: []string{"UNIQ-04", "RACE-07"}},
		{says: "after a failure, a retry under the same key cannot succeed", of: []string{"ERR-06"}},
		{says: "a replay does not say that it is one, or no policy is published", of: []string{"BASIC-08", "BASIC-11"}},
	}
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if strings.HasSuffix(what, "o") {
		what += "e"
	}
	return fmt.Sprintf("%d %ss", n, what)
}
