package storetest_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/semel-dev/semel/store/storetest"
)

// verdict is a testing.TB that records failures of a rule instead of failing.
type verdict struct {
	testing.TB // gives Context, TempDir and the like

	mu       sync.Mutex // guards the fields below
	failures []string
	failed   bool
	cleanups []func()
}

func (v *verdict) Helper()                   {}
func (v *verdict) Log(...any)                {}
func (v *verdict) Logf(string, ...any)       {}
func (v *verdict) Error(args ...any)         { v.add(fmt.Sprint(args...)) }
func (v *verdict) Errorf(f string, a ...any) { v.add(fmt.Sprintf(f, a...)) }
func (v *verdict) Fatal(args ...any)         { v.add(fmt.Sprint(args...)); runtime.Goexit() }
func (v *verdict) Fatalf(f string, a ...any) { v.add(fmt.Sprintf(f, a...)); runtime.Goexit() }
func (v *verdict) Fail()                     { v.add("") }
func (v *verdict) FailNow()                  { v.add(""); runtime.Goexit() }
func (v *verdict) Skip(...any)               { runtime.Goexit() }
func (v *verdict) Skipf(string, ...any)      { runtime.Goexit() }
func (v *verdict) SkipNow()                  { runtime.Goexit() }

func (v *verdict) Cleanup(fn func()) { v.cleanups = append(v.cleanups, fn) }

func (v *verdict) Failed() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.failed
}

func (v *verdict) add(failure string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.failed = true
	if failure != "" {
		v.failures = append(v.failures, failure)
	}
}

// judge returns what a rule says against a store; nothing when it passes.
func judge(t *testing.T, check func(testing.TB)) string {
	t.Helper()
	v := &verdict{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			for _, fn := range slices.Backward(v.cleanups) {
				fn()
			}
		}()
		check(v)
	}()
	<-done
	if !v.Failed() {
		return ""
	}
	return strings.Join(append(v.failures, "failed"), "\n")
}

// wantNoticed fails unless a rule says something against a store, and names
// itself and its promise. Rules that search at random are tried several times: one
// search misses the rarest bug about one time in twenty.
func wantNoticed(t *testing.T, tries int, name string, promise int, check func(testing.TB)) {
	t.Helper()
	said := ""
	for n := 0; n < tries && said == ""; n++ {
		said = judge(t, check)
	}
	switch {
	case said == "":
		t.Errorf("rule %s did not notice it", name)
	case !strings.Contains(said, name+": "), promise != 0 && !strings.Contains(said, fmt.Sprintf("(promise %d)", promise)):
		t.Errorf("rule %s does not name itself and promise %d: %s", name, promise, said)
	}
}

// searches bounds how often a rule searches for a bug: at one miss in twenty,
// all of them miss one time in 10^13.
const searches = 10

func ruleNamed(t *testing.T, name string) storetest.Rule {
	t.Helper()
	for _, rule := range storetest.Rules() {
		if rule.Name == name {
			return rule
		}
	}
	t.Fatalf("no rule is named %q", name)
	return storetest.Rule{}
}

// TestBrokenStores shows that the suite can fail: the rules about a bug find
// it, and name themselves and their promise.
func TestBrokenStores(t *testing.T) {
	t.Parallel()
	for bug, rules := range map[string][]string{
		"settle by any fence":    {"settle/stale", "settle/wrong-fence", "race/settle-holders", "model/sequences", "history/linearizable"},
		"fence reused":           {"fence/grows-after-release", "settle/released", "race/claim", "model/sequences"},
		"fence of each key":      {"fence/grows-across-keys", "fence/grows-after-expiry", "race/fences"},
		"fence forgotten":        {"fence/grows-after-reopen"},
		"takeover of live":       {"claim/takeover-live", "claim/takeover-boundary", "claim/takeover-renewed", "history/linearizable"},
		"takeover by any fence":  {"claim/takeover-stale", "race/takeover-stale"},
		"lapsed to any caller":   {"claim/lapsed", "claim/lapsed-same-owner", "claim/takeover-stale", "model/sequences"},
		"answer not shown":       {"claim/completed", "claim/takeover-completed", "model/sequences"},
		"unknown is run again":   {"claim/unknown", "model/sequences"},
		"note survives":          {"claim/takeover-unknown"},
		"owner not recognised":   {"claim/same-owner", "claim/takeover-repeated", "model/sequences"},
		"repetition extends":     {"claim/same-owner"},
		"half a digest":          {"claim/similar-digests"},
		"expired visible":        {"expiry/claimed", "expiry/completed", "expiry/unknown", "expiry/cancelled", "list/expired"},
		"renew by any fence":     {"renew/stale", "renew/wrong-fence", "model/sequences"},
		"renew keeps expiry":     {"renew/live", "renew/keeps-alive", "renew/shorter", "sweep/moved"},
		"lapsed not renewed":     {"renew/lapsed", "claim/takeover-renewed"},
		"settle overwrites":      {"settle/otherwise", "settle/release-settled", "race/settle", "model/sequences"},
		"settle again extends":   {"settle/repeated"},
		"unknown for ever":       {"settle/unknown-resolved", "history/linearizable"},
		"release of absent errs": {"settle/absent", "settle/released", "expiry/claimed"},
		"not kept is kept":       {"settle/not-kept"},
		"outcome aliased":        {"outcome/aliasing-in"},
		"local time":             {"time/utc-ms"},
		"context ignored":        {"context/cancelled-claim", "context/cancelled-renew", "context/cancelled-settle", "context/cancelled-lookup"},
		"close forgotten":        {"close/verbs"},
		"two winners":            {"race/claim"},
		"sweep of live":          {"sweep/live", "expiry/claimed-swept", "renew/keeps-alive"},
		"sweep without limit":    {"sweep/limit"},
		"list oldest first":      {"list/newest-first", "list/limit", "list/cursor"},
		"list of all scopes":     {"list/filters"},
		"list without bound":     {"list/bound"},
	} {
		t.Run(bug, func(t *testing.T) {
			t.Parallel()
			for _, name := range rules {
				rule := ruleNamed(t, name)
				wantNoticed(t, searches, name, rule.Promise, func(tb testing.TB) { tb.Helper(); rule.Check(tb, naiveWith(bug)) })
			}
		})
	}
}

// TestNaive shows that the suite accepts a store that has no bug, and that it
// does not depend on how the first store was written.
func TestNaive(t *testing.T) {
	t.Parallel()
	storetest.Run(t, naiveWith(""))
}

func TestNaiveUnderFaults(t *testing.T) {
	t.Parallel()
	storetest.RunFaults(t, naiveWith(""))
}

func TestRulesAreNamed(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	named := func(name, says string, promise int) {
		if seen[name] {
			t.Errorf("two rules are named %q", name)
		}
		seen[name] = true
		if says == "" || promise < 0 || promise > 10 || !strings.Contains(name, "/") {
			t.Errorf("rule %q says %q for promise %d", name, says, promise)
		}
	}
	for _, rule := range storetest.Rules() {
		named(rule.Name, rule.Says, rule.Promise)
	}
	for _, rule := range storetest.TxRules() {
		named(rule.Name, rule.Says, rule.Promise)
	}
}
