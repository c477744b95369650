package jsonsearch_test

import (
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/jsonsearch"
)

// BenchmarkFind: 8 MiB cost the same whatever the number of paths.
func BenchmarkFind(b *testing.B) {
	texts := map[string]string{
		"numbers": `{"f0":1,"z":[` + strings.Repeat("1,", 4<<20-20) + `1]}`, "members": `{"f0":1` + strings.Repeat(`,"a":1`, 8<<20/6-4) + `}`,
		"string": `{"f0":1,"z":"` + strings.Repeat("a", 8<<20-20) + `"}`,
	}
	for name, text := range texts {
		for paths, names := range map[string]string{"1": "f0", "12": "f0 f1 f2 f3 f4 f5 f6 f7 f8 f9 f10 f11"} {
			var steps [][]string
			for name := range strings.FieldsSeq(names) {
				steps = append(steps, []string{name})
			}
			b.Run(name+"/paths="+paths, func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					if _, err := jsonsearch.Find(b.Context(), strings.NewReader(text), steps); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
