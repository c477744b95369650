package config

import (
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Pattern matches paths: * and ? within a name, ** across folders. A pattern without a slash matches a
// name in any folder, and one that matches a folder matches all that is below it.
type Pattern struct{ exp *regexp.Regexp }

func newPattern(text string) (Pattern, error) {
	if filepath.IsAbs(text) || strings.HasPrefix(text, "/") || text == ".." || strings.HasPrefix(text, "../") {
		return Pattern{}, errors.New("it has to be relative to the folder of the configuration, and below it")
	}
	text = strings.TrimSuffix(strings.TrimPrefix(text, "./"), "/")
	if text == "" || text == "." {
		text = "**"
	}
	var exp strings.Builder
	exp.WriteString("^")
	if !strings.Contains(text, "/") {
		exp.WriteString("(?:.*/)?")
	}
	for rest := text; rest != ""; {
		switch {
		case strings.HasPrefix(rest, "**/"):
			exp.WriteString("(?:.*/)?")
			rest = rest[3:]
		case strings.HasPrefix(rest, "**"):
			exp.WriteString(".*")
			rest = rest[2:]
		case rest[0] == '*':
			exp.WriteString("[^/]*")
			rest = rest[1:]
		case rest[0] == '?':
			exp.WriteString("[^/]")
			rest = rest[1:]
		default:
			end := len(rest)
			if i := strings.IndexAny(rest, "*?"); i >= 0 {
				end = i
			}
			exp.WriteString(regexp.QuoteMeta(rest[:end]))
			rest = rest[end:]
		}
	}
	exp.WriteString("(?:/.*)?$")
	compiled, err := regexp.Compile(exp.String())
	return Pattern{compiled}, err
}

// match reports whether a path of the project matches.
func (p Pattern) match(path string) bool { return p.exp.MatchString(path) }

// Excludes reports whether a file is not judged. The path is absolute, or relative to the working directory.
func (f *File) Excludes(path string) bool {
	within, ok := f.within(path)
	return ok && slices.ContainsFunc(f.Exclude, func(p Pattern) bool { return p.match(within) })
}

// Override returns the index of the override that counts for a file, -1 for none.
func (f *File) Override(path string) int {
	within, ok := f.within(path)
	if !ok {
		return -1
	}
	return slices.IndexFunc(f.Overrides, func(o Override) bool {
		return slices.ContainsFunc(o.Match, func(p Pattern) bool { return p.match(within) })
	})
}

// Of returns the settings of override n; what it leaves out comes from the file itself. With n = -1, all of them do.
func (f *File) Of(override int) Settings {
	s := f.Settings
	if override < 0 {
		return s
	}
	o := f.Overrides[override].Settings
	if o.Dialect != "" {
		s.Dialect = o.Dialect
	}
	if o.Schema != nil {
		s.Schema = o.Schema
	}
	s.Replace = merge(o.Replace, s.Replace)
	return s
}

// Within returns a path as seen from the folder of the configuration, if it is below that, or else as it is.
func (f *File) Within(path string) string {
	if short, ok := f.within(path); ok {
		return short
	}
	return path
}

// within returns the path from the folder of the configuration, with slashes. Files elsewhere match nothing.
func (f *File) within(path string) (string, bool) {
	full, err := filepath.Abs(path)
	if err != nil || f.Folder == "" {
		return "", false
	}
	short, err := filepath.Rel(f.Folder, full)
	return filepath.ToSlash(short), err == nil && filepath.IsLocal(short)
}
