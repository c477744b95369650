package wire

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Hidden replaces a secret that was removed from a request.
const Hidden = "***"

// Curl writes the request as a curl command for a POSIX shell with $'…' (bash, zsh, ksh, busybox). The quoting
// preserves every byte of the request. A header whose value contains [Hidden] takes it from an environment variable:
// Authorization from $AUTHORIZATION. Things that curl cannot do, such as closing a connection in the middle of a head,
// precede the command as a comment. The manner may be nil.
func Curl(r *Request, m *Manner) string {
	if m == nil {
		m = &Manner{}
	}
	var b strings.Builder
	b.WriteString(remarks(r, m))
	if bytes.IndexByte(r.Body, 0) >= 0 { // program arguments cannot contain it
		b.WriteString("printf " + octal(r.Body) + " | ")
	}
	b.WriteString("curl --http1.1 --globoff --path-as-is")
	if r.Method == http.MethodHead {
		b.WriteString(" --head")
	} else {
		b.WriteString(" -X " + Quote(r.Method))
	}
	if m.Timeout > 0 {
		b.WriteString(" --max-time " + strconv.FormatFloat(m.Timeout.Seconds(), 'f', -1, 64))
	}
	for _, f := range r.Header {
		b.WriteString(" \\\n  -H " + curlHeader(f))
	}
	if m.Chunked {
		b.WriteString(" \\\n  -H 'Transfer-Encoding: chunked'")
	}
	if m.Expect {
		b.WriteString(" \\\n  -H 'Expect: 100-continue'")
	}
	b.WriteString(curlBody(r))
	b.WriteString(" \\\n  " + Quote(r.URL.String()))
	return b.String()
}

func curlHeader(f Field) string {
	switch {
	case f.Value == "":
		return Quote(f.Name + ";") // so that curl sends it, empty
	case strings.Contains(f.Value, Hidden):
		return `"` + f.Name + `: $` + variable(f.Name) + `"`
	}
	return Quote(f.Name + ": " + f.Value)
}

// variable returns a valid name of a shell variable.
func variable(name string) string {
	return strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return unicode.ToUpper(r)
		}
		return '_'
	}, name)
}

func curlBody(r *Request) string {
	if len(r.Body) == 0 {
		return ""
	}
	text := ""
	if !r.Has("Content-Type") {
		text = " \\\n  -H 'Content-Type:'" // otherwise curl declares a form
	}
	if bytes.IndexByte(r.Body, 0) >= 0 {
		return text + " \\\n  --data-binary @-"
	}
	return text + " \\\n  --data-raw " + Quote(string(r.Body))
}

func remarks(r *Request, m *Manner) string {
	var lines []string
	switch m.Fault {
	case CutInHead:
		lines = append(lines, "close the connection before the end of the head (curl cannot do that)")
	case CutInBody:
		lines = append(lines, "close the connection in the middle of the body (curl cannot do that)")
	case HangUp:
		lines = append(lines, "close the connection as soon as everything is sent, without reading: interrupt curl (Ctrl-C)")
	case CutInAnswer:
		lines = append(lines, "close the connection at the first piece of the answer")
	case LoseAnswer:
		lines = append(lines, "the service answers completely; treat the answer as lost")
	case None:
	}
	if m.Pieces > 1 {
		lines = append(lines, fmt.Sprintf("send the body in %d pieces, with %s between them (about: --limit-rate)", m.Pieces, m.Pause))
	}
	if strings.Contains(r.URL.String(), Hidden) || bytes.Contains(r.Body, []byte(Hidden)) {
		lines = append(lines, Hidden+" replaces a secret")
	}
	var b strings.Builder
	for _, line := range lines {
		b.WriteString("# " + line + "\n")
	}
	return b.String()
}

// Quote writes text as one word of a shell: 'text' if possible, $'…' for bytes that a terminal would not show.
func Quote(text string) string {
	if printable(text) {
		return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	}
	var b strings.Builder
	b.WriteString("$'")
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == '\'' || r == '\\':
			b.WriteString(`\` + string(r))
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == utf8.RuneError || !unicode.IsPrint(r):
			for i := range size {
				fmt.Fprintf(&b, `\%03o`, text[i])
			}
		default:
			b.WriteString(text[:size])
		}
		text = text[size:]
	}
	return b.String() + "'"
}

func printable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}

// octal writes bytes as a format of printf, which can express a zero byte.
func octal(body []byte) string {
	var b strings.Builder
	b.WriteByte('\'')
	for _, c := range body {
		if c < utf8.RuneSelf && (unicode.IsLetter(rune(c)) || unicode.IsDigit(rune(c))) {
			b.WriteByte(c)
			continue
		}
		fmt.Fprintf(&b, `\%03o`, c)
	}
	return b.String() + "'"
}
