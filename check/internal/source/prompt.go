package source

import (
	"regexp"
	"strings"
)

// caret matches a line for the Windows command prompt: a caret at the end of a line, or before the quote that begins a
// word.
var caret = regexp.MustCompile(`\^[ \t]*\r?\n|\s\^"`)

// forPrompt reports whether a line is for cmd.exe, and not for a shell, whose quotes would precede the first caret.
func forPrompt(line string) bool {
	at := caret.FindStringIndex(line)
	return at != nil && !strings.Contains(line[:at[0]], " '") && !strings.Contains(line[:at[0]], "\\\n")
}

// promptWords splits a line for cmd.exe: first by the rules of cmd, whose carets and quotes mark text, then by those of
// the C runtime, which makes arguments of it.
//
// Chromium doubles every backslash, although the runtime halves only those before a quote; if the line came from
// Chromium, which alone writes a caret before a backslash, all are halved.
func promptWords(text string) []string {
	return arguments(uncaret(text), strings.Contains(text, `^\^\`))
}

// uncaret removes the carets that cmd removes. After a caret at the end of a line, the next character is literal, even
// a line break.
func uncaret(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	var b strings.Builder
	quoted := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '"':
			quoted = !quoted
		case c != '^' || quoted:
		default:
			next := i + 1
			spaces := len(text[next:]) - len(strings.TrimLeft(text[next:], " \t")) // left by a copy
			if strings.HasPrefix(text[next+spaces:], "\n") {
				next += spaces + 1
			}
			if next >= len(text) {
				return b.String()
			}
			i, c = next, text[next]
		}
		b.WriteByte(c)
	}
	return b.String()
}

// arguments returns those that the C runtime of Windows makes of a line. With doubled, all backslashes are halved.
func arguments(text string, doubled bool) []string {
	var all []string
	var b strings.Builder
	quoted, began := false, false
	for i := 0; i < len(text); i++ {
		c := text[i]
		if !quoted && strings.IndexByte(" \t\n", c) >= 0 {
			if began {
				all = append(all, b.String())
			}
			b.Reset()
			began = false
			continue
		}
		began = true
		switch {
		case c == '\\':
			literal, size := backslashes(text[i:], doubled)
			b.WriteString(literal)
			i += size - 1
		case c == '"' && quoted && strings.HasPrefix(text[i:], `""`):
			b.WriteByte('"')
			i++
		case c == '"':
			quoted = !quoted
		default:
			b.WriteByte(c)
		}
	}
	if began {
		all = append(all, b.String())
	}
	return all
}

// backslashes returns the meaning of a run of them: half as many before a quote, which is literal if one is left over;
// and all of them before anything else.
func backslashes(text string, doubled bool) (literal string, size int) {
	run := len(text) - len(strings.TrimLeft(text, `\`))
	switch {
	case strings.HasPrefix(text[run:], `"`) && run%2 == 1:
		return strings.Repeat(`\`, run/2) + `"`, run + 1
	case strings.HasPrefix(text[run:], `"`), doubled:
		return strings.Repeat(`\`, (run+1)/2), run
	}
	return strings.Repeat(`\`, run), run
}
