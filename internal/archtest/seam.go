package archtest

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"strings"
)

// CheckSeam returns every line of Go, outside of the transition table and its
// exploration, by which a check of the table could be taken out: in everything
// that runs, the table is whole.
func CheckSeam(tree Tree) []Violation {
	seam := regexp.MustCompile(`\bmachine\.(?:Table|Line)\w*|^\s*(?:import\s+)?[\w.]+\s+"` + regexp.QuoteMeta(Module) + `/internal/machine"`)
	var found []Violation
	for _, name := range tree.names(func(name string) bool {
		return path.Ext(name) == ".go" && !inTestdata(name) && !strings.HasPrefix(name, "internal/machine/") &&
			!strings.HasPrefix(name, "internal/model/") && !strings.HasPrefix(name, "internal/archtest/")
	}) {
		number := 0
		for line := range bytes.Lines(tree.files[name]) {
			number++
			if match := seam.Find(line); match != nil && string(bytes.TrimSpace(match)) != `import "`+Module+`/internal/machine"` {
				found = append(found, Violation{
					Where: fmt.Sprintf("%s:%d", name, number),
					Rule:  fmt.Sprintf("%q: only internal/model takes lines out of the transition table; use the functions of package machine", bytes.TrimSpace(match)),
				})
			}
		}
	}
	return found
}
