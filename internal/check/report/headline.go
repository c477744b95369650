package report

import (
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

// consequence returns the meaning of the worst failure.
func consequence(r *check.Report) string {
	for _, c := range consequences() {
		for i := range r.Results {
			if one := &r.Results[i]; one.Verdict == check.Fail && !one.ServerError && slices.ContainsFunc(c.of, func(id string) bool { return strings.HasPrefix(one.ID, id) }) {
				return c.says
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

// meaning is the consequence of a failure of one of these checks.
type meaning struct {
	says string   // true for every way in which they fail
	of   []string // ids, or prefixes of ids
}

// consequences returns them by severity, after those that make everything else uncertain. Every check has one.
func consequences() []meaning { return slices.Concat(doneTwice(), mixedUp(), toldWrongly()) }

// doneTwice returns the consequences for effects.
func doneTwice() []meaning {
	return []meaning{
		{"even two plain requests do not work as they should", []string{"BASIC-01"}},
		{"a repeated request is executed again", []string{"BASIC-02"}},
		{"submitting a form twice makes two records", []string{"FORM-01", "FORM-03"}},
		{"a repeated delivery is processed again, or refused", []string{"HOOK-01"}},
		{"one user is given the answer of another", []string{"SCOPE-01", "SCOPE-03"}},
		{"deliveries without a valid signature are processed", []string{"HOOK-02"}},
		{"requests that arrive together are executed more than once", []string{"RACE-01", "RACE-02", "RACE-03", "RACE-04", "RACE-05", "UNIQ-03"}},
		{"after a failure, a request is lost or executed twice", []string{"ERR-02", "ERR-03", "ERR-04", "HOOK-06", "HOOK-07"}},
		{"success is reported for something that never happened", []string{"UNIQ-02"}},
		{"after a lost answer, a retry is executed again, or does not get the answer", []string{"LOST-"}},
		{"when the service is restarted or killed, a request is executed again, or loses its answer", []string{"OP-"}},
	}
}

// mixedUp returns the consequences of requests that are confused.
func mixedUp() []meaning {
	return []meaning{
		{"different requests are treated as the same", []string{"BASIC-06", "BASIC-07", "KEY-02", "KEY-06", "KEY-09", "KEY-10", "KEY-11", "FORM-04", "FORM-05", "HOOK-05", "SIZE-07"}},
		{"other data under a known key is executed", []string{"MIS-01", "MIS-11"}},
		{"a repeated request in another spelling is executed again", []string{"MIS-08", "MIS-09"}},
		{"the answer to one request is given to another", []string{"MIS-02", "MIS-04", "MIS-05", "MIS-06"}},
		{"a body of unusual size or form is executed again, or answered differently", []string{"SIZE-"}},
		{"a cookie is stored with an answer, and given out again", []string{"SCOPE-04"}},
		{"one user blocks another", []string{"SCOPE-02", "SCOPE-05"}},
		{"a request that was refused once is refused for ever, or treated as done", []string{"ERR-01", "ERR-05", "HOOK-03"}},
		{"one of many repetitions is executed again, or answered differently", []string{"BASIC-10"}},
	}
}

// toldWrongly returns the consequences for answers.
func toldWrongly() []meaning {
	return []meaning{
		{"a repetition gets another answer than the first", []string{"BASIC-03", "BASIC-04", "BASIC-05", "BASIC-12", "FORM-02", "RACE-06", "RACE-09", "MIS-10"}},
		{"a person who sends a form twice sees an error", []string{"FORM-06"}},
		{"a key that expired is answered wrongly", []string{"EXP-"}},
		{"an effect happened late, after the checks counted", []string{"LAST-01"}},
		{"different requests at once block one another", []string{"RACE-08"}},
		{"the same values under another key cause a server error", []string{"UNIQ-01"}},
		{"the answer to a duplicate does not say that it is one", []string{"BASIC-13"}},
		{"the answer to a new request says that it is a repetition", []string{"BASIC-09"}},
		{"old deliveries are processed", []string{"HOOK-04"}},
		{"one key in two spellings counts as two", []string{"KEY-03", "KEY-13"}},
		{"unusual keys are not handled as they should be", []string{"KEY-"}},
		{"a misused key is not refused as it should be", []string{"MIS-03", "MIS-07", "MIS-12"}},
		{"a refusal does not name the existing record, or the time to retry", []string{"UNIQ-04", "RACE-07"}},
		{"after a failure, a retry under the same key cannot succeed", []string{"ERR-06"}},
		{"a replay does not say that it is one, or no policy is published", []string{"BASIC-08", "BASIC-11"}},
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
