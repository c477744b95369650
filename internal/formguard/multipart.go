package formguard

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"mime"
	"mime/quotedprintable"
	"strings"
)

// parts is multipart/form-data. A piece is a delimiter and what follows up to the next one; the first piece is everything before
// the first delimiter. The boundary with its two hyphens is a delimiter wherever it is: readers disagree about the bytes that must
// precede and follow it.
type parts struct {
	names
	dash []byte // "--" and the boundary
}

func (parts) joined() bool { return false }

// long refuses a part whose header is too long to be judged: to a reader of all of it, the part may be a token field.
func (m parts) long(start []byte, first bool) error {
	if first {
		return nil
	}
	head := start[len(m.dash) : maxPieceBytes-MaxTokenField-len("\r\n")]
	for _, cut := range []lineCutter{cutAnyLine, cutLine} {
		_, text := cut(string(head))
		for line := "-"; line != ""; {
			if text == "" {
				return fmt.Errorf("%w: a part's header is longer than %d bytes", ErrAmbiguous, len(head))
			}
			line, text = cut(text)
		}
	}
	return nil
}

func (m parts) end(window []byte, at windowPlace) (int, bool) {
	skip := 0
	if !at.first && !at.inside {
		skip = len(m.dash) // its own
	}
	if len(window) < skip {
		return 0, false
	}
	if i := bytes.Index(window[skip:], m.dash); i >= 0 {
		return skip + i, true
	}
	// A delimiter may have begun at the end of the window.
	return max(0, len(window)-len(m.dash)+1), false
}

func (m parts) judge(piece []byte, first bool) (role, string) {
	if first {
		return content, ""
	}
	text := string(piece[len(m.dash):])
	if name, _, ok := plainPart(text); ok && m.ignores(name) {
		return changing, ""
	}
	for _, cut := range []lineCutter{cutAnyLine, cutLine} {
		header, value := readHeader(text, cut)
		if token, ok := m.token(header, value); ok {
			return ours, token
		}
	}
	return content, ""
}

// lineCutter cuts a text behind its first line, in one of the ways that readers do.
type lineCutter func(text string) (line, rest string)

// readHeader returns the header lines of a part, unfolded, and its content.
func readHeader(text string, cut lineCutter) (header []string, value string) {
	_, text = cut(text) // what is behind the boundary in its line
	for text != "" {
		var line string
		line, text = cut(text)
		if line == "" {
			return header, trimLineEnd(text)
		}
		if n := len(header); n > 0 && (line[0] == ' ' || line[0] == '\t') {
			header[n-1] += line
			continue
		}
		header = append(header, line)
	}
	return header, ""
}

// token returns the token of a part that some reader takes for a token field.
func (m parts) token(header []string, value string) (string, bool) {
	named, encoded := false, false
	for _, line := range header {
		key, text, _ := strings.Cut(line, ":")
		switch asciiLower(strings.TrimSpace(key)) {
		case "content-disposition":
			named = named || m.named(text)
		case "content-transfer-encoding":
			encoded = true
		}
	}
	if !named {
		return "", false
	}
	token, ok := ourValue(value)
	if ok || !encoded {
		return token, ok
	}
	if decoded, err := io.ReadAll(quotedprintable.NewReader(strings.NewReader(value))); err == nil && LooksLike(string(decoded)) {
		return ourValue(string(decoded))
	}
	decoded, err := io.ReadAll(base64.NewDecoder(base64.StdEncoding, strings.NewReader(value)))
	if err != nil {
		return "", false
	}
	return ourValue(string(decoded))
}

func (m parts) pair(sp span) (name, value string) {
	if !sp.ends || sp.first {
		return "", ""
	}
	name, value, _ = plainPart(string(sp.data[len(m.dash):]))
	return name, value
}

// plainPart returns a part that is written as browsers write a field of one line, about which readers agree.
func plainPart(text string) (name, value string, ok bool) {
	rest, ok := strings.CutPrefix(text, "\r\nContent-Disposition: form-data; name=\"")
	if !ok {
		return "", "", false
	}
	name, rest, ok = strings.Cut(rest, "\"\r\n\r\n")
	if !ok || !plain(name) || strings.Contains(name, "%") {
		return "", "", false
	}
	value, ok = strings.CutSuffix(rest, "\r\n")
	return name, value, ok && !strings.ContainsAny(value, "\r\n")
}

// named reports whether some reader finds the field's name in a disposition.
func (m parts) named(value string) bool {
	if _, params, err := mime.ParseMediaType(value); err == nil && m.reads(params["name"]) {
		return true
	}
	lower := asciiLower(value)
	for at := 0; ; {
		i := strings.Index(lower[at:], "name")
		if i < 0 {
			return false
		}
		at += i + len("name")
		rest, isParam := strings.CutPrefix(strings.TrimLeft(value[at:], "* \t"), "=")
		if isParam && m.reads(paramValue(rest)) {
			return true
		}
	}
}

// paramValue returns the value after the equals sign, up to the end of the quotes, or of the parameter.
func paramValue(rest string) string {
	rest = strings.TrimLeft(rest, " \t")
	if rest == "" {
		return ""
	}
	if quote := rest[0]; quote == '"' || quote == '\'' {
		for i := 1; i < len(rest); i++ {
			if rest[i] == quote && rest[i-1] != '\\' {
				return rest[1:i]
			}
		}
		return rest[1:]
	}
	if i := strings.IndexByte(rest, ';'); i >= 0 {
		rest = rest[:i]
	}
	return rest
}

// reads reports whether some reader takes the text for the field's name.
func (m parts) reads(text string) bool {
	if text == m.field {
		return true
	}
	text = strings.ReplaceAll(text, `\`, "")
	if i := strings.LastIndexByte(text, '\''); i >= 0 { // charset'language'name
		text = text[i+1:]
	}
	if decoded, err := new(mime.WordDecoder).DecodeHeader(text); err == nil {
		text = decoded
	}
	return strings.TrimSpace(unescape(text)) == m.field
}

// asciiLower keeps every byte where it is.
func asciiLower(s string) string {
	lower := []byte(s)
	for i, c := range lower {
		if 'A' <= c && c <= 'Z' {
			lower[i] = c + 'a' - 'A'
		}
	}
	return string(lower)
}

// cutAnyLine ends a line at LF, CR LF or CR.
func cutAnyLine(s string) (line, rest string) {
	i := strings.IndexAny(s, "\r\n")
	switch {
	case i < 0:
		return s, ""
	case strings.HasPrefix(s[i:], "\r\n"):
		return s[:i], s[i+2:]
	}
	return s[:i], s[i+1:]
}

// cutLine ends a line at LF or CR LF.
func cutLine(s string) (line, rest string) {
	line, rest, _ = strings.Cut(s, "\n")
	return strings.TrimSuffix(line, "\r"), rest
}

func trimLineEnd(s string) string {
	s = strings.TrimSuffix(s, "\n")
	return strings.TrimSuffix(s, "\r")
}
