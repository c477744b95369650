package which_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPage: each block of code in docs/which.md is part of the programs that run here.
func TestPage(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var programs strings.Builder
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		programs.WriteString(plain(string(text)))
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "which.md"))
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(page), "\n```")
	if len(parts) < 10 {
		t.Fatalf("docs/which.md has %d blocks of code", len(parts)/2)
	}
	for i := 1; i < len(parts); i += 2 {
		_, block, _ := strings.Cut(parts[i], "\n")
		for piece := range strings.SplitSeq(block, "\n\n") {
			if !strings.Contains(programs.String(), plain(piece)) {
				t.Errorf("no program here has this code of docs/which.md:\n%s", piece)
			}
		}
	}
}

// plain removes indentation.
func plain(code string) string {
	var b strings.Builder
	for line := range strings.Lines(code) {
		if line = strings.TrimSpace(line); line != "" {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}
