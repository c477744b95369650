package paste_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// block is a fenced piece of a page.
type block struct {
	language, section, text string
}

// blocks returns the fenced pieces of a page in their order.
func blocks(t *testing.T, page string) []block {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(home, page))
	must(t, err)
	var found []block
	var section string
	var open *block
	for line := range strings.Lines(string(text)) {
		bare := strings.TrimSpace(line)
		switch {
		case open != nil && bare == "```":
			found = append(found, *open)
			open = nil
		case open != nil:
			open.text += line
		case strings.HasPrefix(bare, "```"):
			open = &block{language: strings.TrimPrefix(bare, "```"), section: section}
		case strings.HasPrefix(line, "#"):
			section = strings.TrimSpace(strings.TrimLeft(line, "#"))
		}
	}
	if open != nil {
		t.Fatalf("%s: a block of section %q does not end", page, section)
	}
	return found
}

// only returns the blocks of one language in one section, of which there must be some.
func only(t *testing.T, page, section, language string) []string {
	t.Helper()
	var texts []string
	for _, b := range blocks(t, page) {
		if b.section == section && b.language == language {
			texts = append(texts, b.text)
		}
	}
	if len(texts) == 0 {
		t.Fatalf("%s has no %s block in section %q", page, language, section)
	}
	return texts
}
