package claimtest

import (
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/groupcommit"
	"github.com/semel-dev/semel/store/storetest"
)

// Instance is a store for one rule, which open opens, and opens again.
func Instance[S semel.Store](tb testing.TB, open func(testing.TB) S) *storetest.Instance {
	tb.Helper()
	s := open(tb)
	return &storetest.Instance{Store: s, Reopen: func(tb testing.TB) semel.Store {
		tb.Helper()
		NoError(tb, s.Close())
		s = open(tb)
		return s
	}}
}

// share puts shared batches before a store.
func share(tb testing.TB, store semel.Store) semel.Store {
	tb.Helper()
	g, err := groupcommit.New(store, &groupcommit.Options{Timeout: time.Minute}) // a starved machine takes longer than the default
	NoError(tb, err)
	return g
}

// Grouped puts shared batches (store/groupcommit) before the stores of a harness.
func Grouped(h storetest.Harness) storetest.Harness {
	return func(tb testing.TB) *storetest.Instance {
		tb.Helper()
		inst := h(tb)
		inst.Store = share(tb, inst.Store)
		if reopen := inst.Reopen; reopen != nil {
			inst.Reopen = func(tb testing.TB) semel.Store {
				tb.Helper()
				return share(tb, reopen(tb))
			}
		}
		return inst
	}
}
