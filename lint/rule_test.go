package lint_test

import (
	"slices"
	"testing"

	"github.com/semel-dev/semel/lint"
	"github.com/semel-dev/semel/lint/internal/judge"
)

// The rulebook has every rule, and each example gets the verdict of its rule in its dialect.
func TestRules(t *testing.T) {
	t.Parallel()
	var ids []string
	for _, r := range lint.Rules() {
		ids = append(ids, r.ID)
		if r.Means == "" || r.Verdict >= lint.CannotTell && r.Cure == "" {
			t.Errorf("%s: explain it", r.ID)
		}
		for _, e := range r.Examples {
			if e.Why == "" {
				t.Errorf("%s in %s: %s has another verdict", r.ID, e.Dialect, e.Statement)
			}
		}
	}
	for _, rule := range judge.Rules() {
		if !slices.Contains(ids, string(rule)) {
			t.Errorf("rule %s is not in the rulebook", rule)
		}
	}
}
