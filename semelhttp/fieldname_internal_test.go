package semelhttp

import (
	"errors"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/semel-dev/semel"
)

// TestFieldNames (promise 2): the look into the map leaves out no name that some applications read as a chosen one.
func TestFieldNames(t *testing.T) {
	t.Parallel()
	pieces := []string{"a", "A", "k", "\u212a", "\u017f", "s", ".", " ", "_", "[", "]", "\x00", "\t", "\xff", "\xfe", "é", "É"}
	random := rand.New(rand.NewPCG(1, 2)) // the same names each time
	word := func() string {
		var name strings.Builder
		for range random.IntN(6) {
			name.WriteString(pieces[random.IntN(len(pieces))])
		}
		return name.String()
	}
	met := map[string]int{}
	for range 200_000 {
		chosen := []string{word(), word()}
		name := word()
		names := fieldNamesOf(chosen...)
		at, err := names.find(name)
		is := fieldNameOf(name)
		want := "another"
		switch {
		case slices.Contains(chosen, name):
			want = "chosen"
		case is.readAs(&names.names[0]), is.readAs(&names.names[1]):
			want = "read as one"
		}
		met[want]++
		got := "another"
		switch {
		case at >= 0 && chosen[at] == name && err == nil:
			got = "chosen"
		case errors.Is(err, semel.ErrKeyInvalid):
			got = "read as one"
		}
		if got != want {
			t.Fatalf("%q where %q count: got %s, want %s", name, chosen, got, want)
		}
	}
	if met["chosen"] < 100 || met["read as one"] < 100 {
		t.Errorf("met %v", met)
	}
}

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
