package lint

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/lint/internal/config"
)

// replacement is a text, and what replaces it in a dialect.
type replacement struct{ text, with string }

// maxReplaced bounds how deep a replacement may be in others, and maxWith what it becomes then, in bytes.
const (
	maxReplaced = 4
	maxWith     = 64 << 10
)

// replacementsOf returns the replacements of a dialect, the longest text first. Those within one are in it already.
func replacementsOf(d dialect.Dialect, all []config.Replacement) (list []replacement) {
	for i := range all {
		if with, ok := all[i].In(d); ok {
			list = append(list, replacement{all[i].Text, with})
		}
	}
	slices.SortStableFunc(list, func(a, b replacement) int { return len(b.text) - len(a.text) })
	flat := slices.Clone(list)
	for range maxReplaced {
		for i := range flat {
			if text := (&file{text: flat[i].with}).with(list).text; len(text) <= maxWith {
				flat[i].with = text
			}
		}
	}
	return flat
}

// view is a file as a dialect reads it: with the replacements of the configuration in its text.
type view struct {
	path         string
	text, source string
	moved        []moved // in their order
}

// moved is a replacement in a text: its bytes from at to end replace those of the source from its from to its to.
type moved struct{ at, end, from, to int }

// with puts replacements into the text of the file, or none if it would become larger than a file may be.
func (f *file) with(list []replacement) *view {
	v := &view{path: f.path, source: f.text}
	if len(list) == 0 {
		v.text = f.text
		return v
	}
	pairs := make([]string, len(list))
	for i, r := range list {
		pairs[i] = regexp.QuoteMeta(r.text)
	}
	var b strings.Builder
	done := 0
	for _, m := range regexp.MustCompile(strings.Join(pairs, "|")).FindAllStringIndex(f.text, -1) {
		i := slices.IndexFunc(list, func(r replacement) bool { return r.text == f.text[m[0]:m[1]] })
		b.WriteString(f.text[done:m[0]])
		at := b.Len()
		b.WriteString(list[i].with)
		if b.Len() > maxFileBytes {
			return &view{path: f.path, source: f.text, text: f.text}
		}
		v.moved = append(v.moved, moved{at, b.Len(), m[0], m[1]})
		done = m[1]
	}
	b.WriteString(f.text[done:])
	v.text = b.String()
	return v
}

// origin returns the byte of the source where a byte of the text comes from: of a replacement, the start of what it replaces.
func (v *view) origin(at int) int {
	n, within := slices.BinarySearchFunc(v.moved, at, func(m moved, at int) int {
		switch {
		case m.end <= at:
			return -1
		case m.at > at:
			return 1
		}
		return 0
	})
	switch {
	case within:
		return v.moved[n].from
	case n > 0:
		return at - v.moved[n-1].end + v.moved[n-1].to
	}
	return at
}

// quotedOrBound matches strings and comments, and #{…}, with which MyBatis passes a value.
var quotedOrBound = regexp.MustCompile(`(?s)'(?:[^']|'')*'|"[^"]*"|--[^\n]*|/\*.*?\*/|#\{\s*\w[^{}\n]*\}`)

// spliced matches ${…}, in the place of which MyBatis puts a text.
var spliced = regexp.MustCompile(`\$\{[\w.]{1,40}\}`)

// bound writes #{name, jdbcType=…} as :name, which each dialect takes for a parameter, and keeps all places.
func bound(text string) string {
	if !strings.Contains(text, "#{") {
		return text
	}
	return quotedOrBound.ReplaceAllStringFunc(text, func(found string) string {
		inner, ok := strings.CutPrefix(found, "#{")
		if !ok {
			return found
		}
		name := strings.TrimSpace(strings.NewReplacer(".", "_", "}", "").Replace(inner))
		name, _, _ = strings.Cut(name, ",")
		name = strings.TrimSpace(name)
		return strings.Repeat(" ", len(found)-len(name)-1) + ":" + name
	})
}

// filledIn matches what programs fill in before they run a statement.
var filledIn = regexp.MustCompile(`\{\{[^{}\n]{1,40}\}\}|\{\w{1,40}\}|\[\[\w{1,40}\]\]|<<\w{1,40}>>|\$\{\w{1,40}\}|__\w{1,40}__`)

// replaceAdvice says what to do about a statement that has placeholders.
func replaceAdvice(text string) string {
	if found := filledIn.FindString(text); found != "" {
		return fmt.Sprintf("if the program fills in %s, say with what under replace in %s", found, config.Name)
	}
	return ""
}
