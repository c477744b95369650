package proxies_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// page returns the directives of docs/operations.md for the proxy, of which there must be one block.
func (k *kind) page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "operations.md"))
	must(t, err)
	blocks := regexp.MustCompile("(?ms)^```"+k.language+"\n(.*?)^```$").FindAllSubmatch(text, -1)
	if len(blocks) != 1 {
		t.Fatalf("docs/operations.md has %d blocks of %s, want one", len(blocks), k.language)
	}
	return "\n" + string(blocks[0][1])
}
