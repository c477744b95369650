package formfields

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
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
		names := NamesOf(chosen...)
		at, alike := names.Find(name)
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
		case at >= 0 && chosen[at] == name:
			got = "chosen"
		case len(alike) > 0:
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

// TestUnderscored: PHP takes a bracket that is never closed for a part of the name.
func TestUnderscored(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"a[b": "a_b", " a.b c[d": "a_b_c_d", "a[b]": "a[b]", "[a": "[a"} {
		if got := underscored(name); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}
