package semelhttp

import (
	"net/url"
	"strings"
	"testing"
)

// TestManyFieldNames (promise 8): a stranger's form of a million names costs little for each of them, however many fields count.
func TestManyFieldNames(t *testing.T) { //nolint:paralleltest // it counts allocations
	fields := Derived(DerivedKey{Fields: []string{"customer", "amount", "to_whom", "note", "a", "b", "c", "d", "e", "f", "g", "h[x]"}})
	const names = 1000
	for _, name := range []string{".", "x", " .", "h[", "\u212aa"} {
		form := "customer=1" + strings.Repeat("&"+url.QueryEscape(name), names)
		allocs := testing.AllocsPerRun(10, func() { _, _, _ = keyIn(fields, "application/x-www-form-urlencoded", form) })
		if allocs > 10*names {
			t.Errorf("%q: got %.0f allocations for each name, want at most 10", name, allocs/names)
		}
	}
}
