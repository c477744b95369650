package adopt_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// ran lists the files whose code runs in tests.
var ran = []string{
	"*_test.go", "../../adapters/*/*_test.go", "../../semelgrpc/example_test.go", "../rules/*.yaml",
	"../../proof/integration/apps/express/testdata/*",
}

// TestPage: each block of docs/adopt.md is part of what runs, unless its section says that it was read only.
func TestPage(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for _, pattern := range ran {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			all.WriteString(unindented(string(text)))
		}
	}
	page, err := os.ReadFile("../../docs/adopt.md")
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for section := range strings.SplitSeq(string(page), "\n## ") {
		title, _, _ := strings.Cut(section, "\n")
		parts := strings.Split(section, "\n```")
		for i := 1; i < len(parts); i += 2 {
			language, block, _ := strings.Cut(parts[i], "\n")
			if strings.HasSuffix(title, "(read only)") || language == "sh" {
				continue
			}
			compared++
			if !strings.Contains(all.String(), unindented(block)) {
				t.Errorf("%s: no program has this code:\n%s", title, block)
			}
		}
	}
	if compared < 15 {
		t.Errorf("%d blocks were compared", compared)
	}
}

// unindented removes indentation.
func unindented(code string) string {
	var b strings.Builder
	for line := range strings.Lines(code) {
		if line = strings.TrimSpace(line); line != "" {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}
