package memstore

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/semel-dev/semel"
)

// Promise 5: entries that share what the index hashes stay apart, whatever is
// added and removed.
func TestIndexKeepsTwinsApart(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		x := index{}
		want := map[semel.Digest]*entry{}
		draw := func(t *rapid.T) semel.Digest {
			var d semel.Digest
			d[8] = byte(rapid.IntRange(0, 1).Draw(t, "hashed"))
			d[31] = byte(rapid.IntRange(0, 4).Draw(t, "not hashed"))
			return d
		}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				d := draw(t)
				if want[d] == nil {
					want[d] = &entry{digest: d}
					x.add(want[d])
				}
			},
			"remove": func(t *rapid.T) {
				d := draw(t)
				if e := want[d]; e != nil {
					x.remove(e)
					delete(want, d)
				}
			},
			"": func(t *rapid.T) {
				for hashed := range byte(2) {
					for other := range byte(5) {
						d := semel.Digest{8: hashed, 31: other}
						if got := x.find(&d); got != want[d] {
							t.Fatalf("find %v: got %p, want %p", d, got, want[d])
						}
					}
				}
				if len(want) == 0 && len(x) != 0 {
					t.Fatalf("an empty index holds %d chains", len(x))
				}
			},
		})
	})
}
