package source

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// typed is a parsed command line.
type typed struct {
	words []string
	stdin *string // of a here-document or a here-string
	from  string  // the file after <
	notes []string
}

// shell splits a line like a POSIX shell with Bash's $'…', and executes nothing.
type shell struct {
	text string
	at   int
	out  typed
	// pending is the delimiter of the here-document that begins with the next line; literal disables expansion in it.
	pending string
	literal bool
}

// words splits the first command of the text.
func (s *shell) words() (typed, error) {
	for s.at < len(s.text) {
		switch c := s.text[s.at]; {
		case s.continued():
		case c == ' ' || c == '\t' || c == '\r':
			s.at++
		case c == '#':
			s.skipLine()
		case strings.IndexByte("\n;|&()<>", c) >= 0 || s.numberedRedirect():
			done, err := s.operator()
			if done || err != nil {
				return s.out, err
			}
		default:
			word, err := s.word()
			if err != nil {
				return s.out, err
			}
			s.out.words = append(s.out.words, word)
		}
	}
	if s.pending != "" {
		return s.out, fmt.Errorf("the here-document does not begin: end the line, and close it with %s", s.pending)
	}
	return s.out, nil
}

// continued skips a backslash at the end of a line, with trailing spaces that a copy may have left.
func (s *shell) continued() bool {
	rest, ok := strings.CutPrefix(s.text[s.at:], `\`)
	if !ok {
		return false
	}
	trimmed := strings.TrimLeft(rest, " \t\r")
	switch {
	case trimmed == "":
		s.at = len(s.text)
	case trimmed[0] == '\n':
		s.at = len(s.text) - len(trimmed) + 1
	default:
		return false
	}
	return true
}

func (s *shell) skipLine() {
	if end := strings.IndexByte(s.text[s.at:], '\n'); end >= 0 {
		s.at += end
		return
	}
	s.at = len(s.text)
}

// numberedRedirect reports whether 2> or its like begins here.
func (s *shell) numberedRedirect() bool {
	return s.at+1 < len(s.text) && s.text[s.at] >= '0' && s.text[s.at] <= '9' && s.text[s.at+1] == '>'
}

// operator reads an operator; done reports that the command ended.
func (s *shell) operator() (done bool, err error) {
	rest := s.text[s.at:]
	switch {
	case rest[0] == '\n':
		s.at++
		if s.pending != "" {
			return true, s.hereDocument()
		}
		return len(s.out.words) > 0, s.left(s.text[s.at:])
	case strings.HasPrefix(rest, "<<<"):
		s.at += 3
		text, err := s.operand()
		text += "\n"
		s.out.stdin = &text
		return false, err
	case strings.HasPrefix(rest, "<<"):
		s.at += len("<<")
		if strings.HasPrefix(s.text[s.at:], "-") {
			s.at++
		}
		quoted := strings.HasPrefix(strings.TrimLeft(s.text[s.at:], " \t"), "'") || strings.HasPrefix(strings.TrimLeft(s.text[s.at:], " \t"), `"`)
		s.pending, err = s.operand()
		s.literal = quoted
		return false, err
	case rest[0] == '<':
		s.at++
		s.out.from, err = s.operand()
		return false, err
	case strings.HasPrefix(rest, "&>"), rest[0] == '>', rest[0] >= '0' && rest[0] <= '9':
		s.at += strings.IndexByte(rest, '>') + 1
		s.at += len(s.text[s.at:]) - len(strings.TrimLeft(s.text[s.at:], ">&|"))
		_, err := s.operand()
		return false, err
	case rest[0] == '&' && !strings.HasPrefix(rest, "&&") && strings.TrimSpace(rest[1:]) != "":
		return true, errors.New("an & outside of quotes ends the command: put the URL into quotes")
	case rest[0] == '(' || rest[0] == ')':
		return true, fmt.Errorf("%q is outside of quotes: put quotes around the whole value", rest[:1])
	}
	if s.pending != "" && strings.HasPrefix(rest, "|") { // curl … <<EOF | jq .
		s.skipLine()
		return false, nil
	}
	return len(s.out.words) > 0, s.left(strings.TrimLeft(rest, "|&; "))
}

// left notes the text after the first command, and skips the words before it.
func (s *shell) left(rest string) error {
	if len(s.out.words) == 0 {
		s.at = max(s.at, len(s.text)-len(rest))
		return nil
	}
	rest = strings.TrimSpace(rest)
	if rest == "" {
		return nil
	}
	line, _, _ := strings.Cut(rest, "\n")
	if len(line) > maxShown {
		line = line[:maxShown] + "…"
	}
	if strings.HasPrefix(line, "-") {
		return fmt.Errorf(`the command ends before %q: end the line before it with a backslash`, line)
	}
	s.out.notes = append(s.out.notes, fmt.Sprintf("the text after the command was left out: %s", strings.ToValidUTF8(line, "…")))
	return nil
}

// maxShown limits how much of an input messages quote, in bytes.
const maxShown = 60

func (s *shell) operand() (string, error) {
	s.at += len(s.text[s.at:]) - len(strings.TrimLeft(s.text[s.at:], " \t"))
	return s.word()
}

// hereDocument reads the lines up to the delimiter.
func (s *shell) hereDocument() error {
	rest := s.text[s.at:]
	end := -1
	for at := 0; at <= len(rest); {
		line, _, more := strings.Cut(rest[at:], "\n")
		if strings.Trim(line, "\t\r ") == s.pending {
			end = at
			break
		}
		if !more {
			break
		}
		at += len(line) + 1
	}
	if end < 0 {
		return fmt.Errorf("the here-document is not closed: write %s on a line of its own", s.pending)
	}
	text := rest[:end]
	if !s.literal {
		inner := &shell{text: text}
		expanded, err := inner.until("")
		if err != nil {
			return err
		}
		s.out.notes = append(s.out.notes, inner.out.notes...)
		text = expanded
	}
	s.out.stdin = &text
	return nil
}

func (s *shell) word() (string, error) {
	var b strings.Builder
	for s.at < len(s.text) && strings.IndexByte(" \t\r\n;|&()<>", s.text[s.at]) < 0 {
		rest := s.text[s.at:]
		var piece string
		var err error
		switch {
		case s.continued():
		case rest[0] == '\'':
			piece, err = s.single()
		case rest[0] == '"':
			s.at++
			piece, err = s.until(`"`)
		case strings.HasPrefix(rest, "$'"):
			s.at += len("$'")
			piece, err = s.ansi()
		case strings.HasPrefix(rest, `$"`):
			s.at++
		case rest[0] == '\\' && len(rest) > 1:
			_, size := utf8.DecodeRuneInString(rest[1:])
			piece = rest[1 : 1+size]
			s.at += 1 + size
		case rest[0] == '$', rest[0] == '`':
			piece, err = s.expansion()
		default:
			piece = rest[:1]
			s.at++
		}
		if err != nil {
			return "", err
		}
		b.WriteString(piece)
	}
	return b.String(), nil
}

func (s *shell) single() (string, error) {
	text, _, ok := strings.Cut(s.text[s.at+1:], "'")
	if !ok {
		return "", errors.New("a single quote is not closed")
	}
	s.at += len(text) + len("''")
	return text, nil
}

// until reads text in which only \, $ and ` are special, up to the closing quote; an empty one means the end of the
// text.
func (s *shell) until(closing string) (string, error) {
	var b strings.Builder
	for s.at < len(s.text) {
		rest := s.text[s.at:]
		switch {
		case closing != "" && strings.HasPrefix(rest, closing):
			s.at += len(closing)
			return b.String(), nil
		case strings.HasPrefix(rest, "\\\r\n"):
			s.at += len("\\\r\n")
		case strings.HasPrefix(rest, "\\\n"):
			s.at += len("\\\n")
		case rest[0] == '\\' && len(rest) > 1 && strings.IndexByte("$`\\\"", rest[1]) >= 0 && (closing != "" || rest[1] != '"'):
			b.WriteByte(rest[1])
			s.at += 2
		case rest[0] == '$', rest[0] == '`':
			piece, err := s.expansion()
			if err != nil {
				return "", err
			}
			b.WriteString(piece)
		default:
			b.WriteByte(rest[0])
			s.at++
		}
	}
	if closing != "" {
		return "", errors.New("a double quote is not closed")
	}
	return b.String(), nil
}

var (
	variable = regexp.MustCompile(`^\$(?:([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)\})`)
	uuidgen  = regexp.MustCompile(`^(?:\$\(\s*(?:uuidgen[^)]*|cat\s+/proc/sys/kernel/random/uuid\s*)\)|` + "`\\s*uuidgen[^`]*`)")
	dateTime = regexp.MustCompile(`^(?:\$\(\s*date\s+['"]?\+%s(?:%N)?['"]?\s*\)|` + "`\\s*date\\s+['\"]?\\+%s(?:%N)?['\"]?\\s*`" + `|\$RANDOM\b)`)
)

// expansion reads a text that a shell would replace.
func (s *shell) expansion() (string, error) {
	rest := s.text[s.at:]
	if match := dateTime.FindString(rest); match != "" {
		s.at += len(match)
		s.remark("%s became {{n}}", match)
		return "{{n}}", nil
	}
	if match := variable.FindStringSubmatch(rest); match != nil {
		s.at += len(match[0])
		name := match[1] + match[2]
		s.remark("the shell's variable %s became {{var:%s}}", match[0], name)
		return "{{var:" + name + "}}", nil
	}
	if match := uuidgen.FindString(rest); match != "" {
		s.at += len(match)
		s.remark("%s became {{uuid}}", match)
		return "{{uuid}}", nil
	}
	if len(rest) == 1 || rest[0] == '$' && strings.IndexByte("({0123456789?!@*#$-", rest[1]) < 0 {
		s.at++
		return rest[:1], nil
	}
	shown := rest[:min(len(rest), maxShown)]
	return "", fmt.Errorf("the shell would replace %q, but no shell is run: write the value itself, or put it into single quotes", shown)
}

func (s *shell) remark(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !slices.Contains(s.out.notes, text) {
		s.out.notes = append(s.out.notes, text)
	}
}

// ansi reads the rest of $'…'.
func (s *shell) ansi() (string, error) {
	var b strings.Builder
	for s.at < len(s.text) {
		rest := s.text[s.at:]
		switch {
		case rest[0] == '\'':
			s.at++
			return b.String(), nil
		case rest[0] == '\\' && len(rest) > 1:
			text, size := escaped(rest)
			b.WriteString(text)
			s.at += size
		default:
			b.WriteByte(rest[0])
			s.at++
		}
	}
	return "", errors.New("$' is not closed")
}

// escaped returns the meaning and the length of a backslash sequence.
func escaped(rest string) (text string, size int) {
	if at := strings.IndexByte(`abeEfnrtv\'"?`, rest[1]); at >= 0 {
		return "\a\b\x1b\x1b\f\n\r\t\v\\'\"?"[at : at+1], len(`\n`)
	}
	switch c := rest[1]; {
	case c == 'x':
		return coded(rest, `\x`, 2, "0123456789abcdefABCDEF")
	case c == 'u':
		return coded(rest, `\u`, 4, "0123456789abcdefABCDEF")
	case c == 'U':
		return coded(rest, `\U`, 8, "0123456789abcdefABCDEF")
	case c == 'c' && len(rest) > len(`\c`):
		return string([]byte{rest[2] & 0x1f}), len(`\cx`)
	case c >= '0' && c <= '7':
		return coded(rest, `\`, 3, "01234567")
	}
	return rest[:1], 1
}

// coded returns the character with the number after the start. A shell also accepts fewer digits.
func coded(rest, start string, most int, digits string) (text string, size int) {
	size = len(start)
	for size < len(rest) && size < len(start)+most && strings.IndexByte(digits, rest[size]) >= 0 {
		size++
	}
	if size == len(start) {
		return rest[:1], 1
	}
	padded := strings.Repeat("0", len(start)+most-size) + rest[len(start):size]
	text, err := strconv.Unquote(`"` + start + padded + `"`)
	if err != nil { // not a character
		return string(utf8.RuneError), size
	}
	return text, size
}
