package judge

import (
	"strings"

	"github.com/semel-dev/semel/lint/internal/tree"
)

// merge judges MERGE: a branch that computes from the old row is not safe, and of the others nothing is shown.
func (j *judge) merge(m *tree.Merge) Judgement {
	res := j.within(m.With)
	t, _, why := j.behind(m.Table, m.As, []tree.Source{m.Using}, m.On)
	if why != "" {
		res = worse(res, judged(CannotTell, UnknownTable, why))
	}
	for _, b := range m.Branches {
		for _, a := range b.Set {
			t.assign(strings.ToLower(a.Column), a.Value, a.Of)
		}
	}
	for _, b := range m.Branches {
		for _, a := range b.Set {
			if one := j.value(strings.ToLower(a.Column), t, m.On); b.If == nil && one.Verdict == NotSafe {
				res = worse(res, one)
			}
		}
	}
	return worse(res, judged(CannotTell, Unproven, "MERGE inserts in one run what it updates in the next"))
}
