package storetest

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel"
)

// Instance is one store under test, empty at first.
type Instance struct {
	// Store is the store under test. The suite closes it.
	Store semel.Store
	// Advance moves the store's clock forward. It is required, and is never
	// called while a verb runs.
	Advance func(time.Duration)
	// Check verifies the integrity of the store's data. It is called when a rule
	// is done, before the store is closed by the suite (a rule may have closed it
	// before). nil means nothing to check.
	Check func(testing.TB)
	// Reopen closes the store and opens it again on the same data and the
	// same clock. nil means that the data does not survive.
	Reopen func(testing.TB) semel.Store
	// Running says that the store's clock also runs on its own. Rules that reach a
	// boundary to the millisecond then keep a minute's distance.
	Running bool
}

// Harness makes one Instance for one rule; rules run in parallel. It frees in
// tb.Cleanup whatever else it opens.
type Harness func(tb testing.TB) *Instance

// storeRule is one sentence of the contract.
type storeRule struct {
	// Name names the rule, such as "claim/takeover-lapsed".
	Name string
	// Promise is the number of the guarantee it keeps; 0 for a rule that is
	// only part of the contract.
	Promise int
	// Says is the rule in plain words.
	Says string

	needs need
	check func(*check)
}

// need names what a rule needs in addition to the five verbs.
type need uint8

const (
	needNothing need = iota
	needReliable
	needLister
	needSweeper
	needCounter
	needBatcher
	needNotifier
)

// storeRules returns every rule of the contract, in the order of the contract.
func storeRules() []storeRule {
	return slices.Concat(
		claimRules(), takeOverRules(), fenceRules(), renewRules(), settleRules(), resettleRules(),
		expiryRules(), outcomeRules(), keyRules(), timeRules(), contextRules(), closeRules(),
		concurrentRules(), verdictRules(), batchRules(), awaitRules(), listRules(), sweepRules(), modelRules(), historyRules(),
	)
}

// Run checks every rule, each as a subtest with an instance of its own. Rules
// about optional interfaces that the store lacks are skipped. With only, it checks
// the rules whose names begin with one of these, such as "race/".
func Run(t *testing.T, h Harness, only ...string) {
	t.Helper()
	rules := slices.DeleteFunc(storeRules(), func(r storeRule) bool { return !picked(r.Name, only) })
	if len(rules) == 0 {
		t.Fatalf("storetest: no rule has a name that begins with one of %q", only)
	}
	for _, rule := range rules {
		t.Run(rule.Name, func(t *testing.T) {
			t.Parallel()
			rule.Check(t, h)
		})
	}
}

// picked reports whether the name begins with one of these, if there are any.
func picked(name string, only []string) bool {
	return len(only) == 0 || slices.ContainsFunc(only, func(begin string) bool { return strings.HasPrefix(name, begin) })
}

// Check checks this rule alone, with a fresh instance.
func (r storeRule) Check(tb testing.TB, h Harness) {
	tb.Helper()
	inst := h(tb)
	if inst == nil || inst.Store == nil || inst.Advance == nil {
		tb.Fatal("storetest: the harness must give a Store and Advance")
	}
	c := &check{TB: tb, Instance: inst, rule: r, ctx: tb.Context()}
	tb.Cleanup(func() {
		if inst.Check != nil {
			inst.Check(tb)
		}
		if err := inst.Store.Close(); err != nil {
			tb.Errorf("%s: Close after the rule: %v", r.Name, err)
		}
	})
	if missing := r.needs.missing(inst.Store); missing != "" {
		tb.Skipf("the store is not a %s", missing)
	}
	r.check(c)
}

// missing names the optional interface that the store lacks.
func (n need) missing(store semel.Store) string {
	switch n {
	case needLister:
		return lacking[semel.Lister](store)
	case needSweeper:
		return lacking[semel.Sweeper](store)
	case needCounter:
		return lacking[semel.Counter](store)
	case needNotifier:
		return lacking[semel.Notifier](store)
	case needBatcher: // itself: shared batches in front of one are not its own
		if _, ok := store.(semel.Batcher); !ok {
			return "semel.Batcher"
		}
	case needNothing, needReliable:
	}
	return ""
}

// lacking names the interface when the store is not one.
func lacking[T any](store semel.Store) string {
	if _, ok := semel.StoreAs[T](store); ok {
		return ""
	}
	return reflect.TypeFor[T]().String()
}

// check is the argument of a rule: an instance, and verbs that fail the test in
// the words of the contract.
type check struct {
	testing.TB
	*Instance

	rule storeRule
	ctx  context.Context //nolint:containedctx // the life of one rule, as testing.TB has it.
}
