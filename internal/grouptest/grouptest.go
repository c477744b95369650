// Package grouptest runs the tests of stores through shared batches
// (store/groupcommit). Only tests import it.
package grouptest

import (
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/groupcommit"
	"github.com/semel-dev/semel/store/storetest"
)

// share puts shared batches before a store.
func share(tb testing.TB, store semel.Store) semel.Store {
	tb.Helper()
	g, err := groupcommit.New(store, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

// Harness puts shared batches before the stores of a harness.
func Harness(h storetest.Harness) storetest.Harness {
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
