package formguard

import (
	"bytes"
	"slices"
	"strings"
)

// names holds the names of the fields that a caller looks for.
type names struct {
	field  string
	ignore []string
	known  bool // ignore what Changes knows
}

func (n *names) ignores(name string) bool {
	return n.known && Changes(name) || slices.Contains(n.ignore, name)
}

// ourValue returns the token in a field's value; ok is false for a value of the
// application.
func ourValue(value string) (token string, ok bool) {
	return value, len(value) <= MaxTokenField && LooksLike(value)
}

// urlencoded is application/x-www-form-urlencoded, and a query. Pieces are
// separated by ampersands; each but the first begins with its ampersand.
type urlencoded struct{ names }

func (urlencoded) end(window []byte, at place) (int, bool) {
	skip := 0
	if !at.first && !at.inside {
		skip = 1 // its own
	}
	if len(window) < skip {
		return len(window), false
	}
	if i := bytes.IndexByte(window[skip:], '&'); i >= 0 {
		return skip + i, true
	}
	return len(window), false
}

func (urlencoded) joined() bool { return true }

func (urlencoded) long(_ []byte, _ bool) error { return nil }

func (u urlencoded) judge(piece []byte, first bool) (role, string) {
	if !first && len(piece) > 0 {
		piece = piece[1:]
	}
	rawName, rawValue, found := bytes.Cut(piece, []byte("="))
	if !found || (literal(rawName) && !u.knows(rawName)) {
		return content, ""
	}
	name := unescape(string(rawName))
	if strings.TrimSpace(name) == u.field {
		if token, ok := ourValue(unescape(string(rawValue))); ok {
			return ours, token
		}
	}
	if u.ignores(name) && plain(string(rawName)) && plain(string(rawValue)) {
		return changing, ""
	}
	return content, ""
}

func (u urlencoded) pair(sp span) (name, value string) {
	piece := string(sp.data)
	if !sp.first {
		piece = strings.TrimPrefix(piece, "&")
	}
	name, value, _ = strings.Cut(piece, "=")
	if !sp.ends || !plain(name) || !plain(value) {
		return "", ""
	}
	return unescape(name), unescape(value)
}

// literal reports whether a name is written as it is read.
func literal(raw []byte) bool {
	n := len(raw)
	edge := func(c byte) bool { return ' ' < c && c < 0x7f }
	return n > 0 && edge(raw[0]) && edge(raw[n-1]) && bytes.IndexByte(raw, '%') < 0 && bytes.IndexByte(raw, '+') < 0
}

// knows reports whether the name is looked for, without making a string of it.
func (n *names) knows(name []byte) bool {
	return string(name) == n.field || n.ignores(string(name))
}

// plain reports whether no reader finds more than one name or value in the text:
// it has letters, digits, whole escapes and harmless marks only.
func plain(raw string) bool {
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case strings.IndexByte("-._~*+/=:!,@$[]", c) >= 0:
		case c == '%' && i+2 < len(raw) && isHex(raw[i+1]) && isHex(raw[i+2]):
			i += 2
		default:
			return false
		}
	}
	return true
}

// unescape decodes a name or a value. Invalid escapes stay as they are.
func unescape(raw string) string {
	if !strings.ContainsAny(raw, "%+") {
		return raw
	}
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		switch {
		case raw[i] == '+':
			out = append(out, ' ')
		case raw[i] == '%' && i+2 < len(raw) && isHex(raw[i+1]) && isHex(raw[i+2]):
			out = append(out, hexValue(raw[i+1])<<4|hexValue(raw[i+2]))
			i += 2
		default:
			out = append(out, raw[i])
		}
	}
	return string(out)
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func hexValue(c byte) byte {
	switch {
	case c <= '9':
		return c - '0'
	case c <= 'F':
		return c - 'A' + 10
	}
	return c - 'a' + 10
}

// lines is text/plain. A piece is a line with its end. Nothing in it is ignored:
// a line of a text may look like a field.
type lines struct{ names }

func (lines) end(window []byte, _ place) (int, bool) {
	if i := bytes.IndexByte(window, '\n'); i >= 0 {
		return i + 1, true
	}
	return len(window), false
}

func (lines) joined() bool { return false }

func (lines) long(_ []byte, _ bool) error { return nil }

func (lines) pair(span) (name, value string) { return "", "" }

func (l lines) judge(piece []byte, _ bool) (role, string) {
	name, value, found := bytes.Cut(piece, []byte("="))
	if !found || string(bytes.TrimSpace(name)) != l.field {
		return content, ""
	}
	if token, ok := ourValue(strings.TrimRight(string(value), "\r\n")); ok {
		return ours, token
	}
	return content, ""
}
