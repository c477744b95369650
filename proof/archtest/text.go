package archtest

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"strings"
)

const maxReadmeLines = 120

// ban is a text that no file may hold. Patterns are written so that they do not match their own source.
type ban struct {
	pattern *regexp.Regexp
	rule    string
}

func bans(checkout string) []ban {
	return []ban{
		{
			// The last one in quotes is data: it is the currency code for no currency.
			regexp.MustCompile(`\b(?:TOD[O]|FIXM[E])\b|(?:^|[^"'\w])XX[X]\b`),
			"promises work: do it, or open an issue and leave the marker out",
		},
		{
			regexp.MustCompile(`(?:\.\.[/]shared\b|\bshared[/](?:[A-Z]+\.md|evidence|hooks|golangci))`),
			"names a folder outside the repository: the repository is complete without it",
		},
		{
			regexp.MustCompile(`(?:^|[\s"'=(:` + "`" + `])/(?:root|(?:home|Users)/[a-z][\w.-]*)/`),
			"holds a path of one machine: take it from a flag, the environment or t.TempDir",
		},
		{
			regexp.MustCompile(regexp.QuoteMeta(checkout) + `(?:/|\b)`),
			"holds the path of this checkout: take it from a flag, the environment or t.TempDir",
		},
	}
}

// CheckText returns every line that says what no file may say, and a README that is too long. The checkout is the
// absolute path under which the tree lies on this machine.
func CheckText(tree Tree, checkout string) []Violation {
	var found []Violation
	banned := bans(checkout)
	for _, name := range tree.names(func(name string) bool { return !isLock(name) }) {
		text := tree.files[name]
		if lines := bytes.Count(text, []byte("\n")); name == "README.md" && lines > maxReadmeLines {
			found = append(found, Violation{
				Where: name,
				Rule:  fmt.Sprintf("has %d lines, at most %d: move detail to docs", lines, maxReadmeLines),
			})
		}
		number := 0
		for line := range bytes.Lines(text) {
			number++
			for _, b := range banned {
				if match := b.pattern.Find(line); match != nil {
					found = append(found, Violation{
						Where: fmt.Sprintf("%s:%d", name, number),
						Rule:  fmt.Sprintf("%q %s", bytes.TrimSpace(match), b.rule),
					})
				}
			}
		}
	}
	return found
}

// isLock reports whether a file is written by a package manager: it is full of hashes and addresses.
func isLock(name string) bool {
	base := path.Base(name)
	return strings.HasSuffix(base, ".sum") || base == "package-lock.json"
}
