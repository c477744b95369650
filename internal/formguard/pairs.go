package formguard

import (
	"bytes"
	"errors"
	"io"
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

func (urlencoded) end(window []byte, at windowPlace) (int, bool) {
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

func (lines) end(window []byte, _ windowPlace) (int, bool) {
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

const (
	// windowBytes limits how much of a body is held; firstBytes is the room that it starts with.
	windowBytes = 32 << 10
	firstBytes  = 2 << 10
	// maxPieceBytes is the longest piece that can be a token field, or be ignored.
	maxPieceBytes = 8 << 10
	// maxEmptyReads bounds how often a reader may return nothing, in a row.
	maxEmptyReads = 100
)

// role distinguishes pieces that are kept, ignored and removed.
type role int

const (
	// content belongs to the application.
	content role = iota
	// changing belongs to the application, but not to the digest.
	changing
	// ours is a token field.
	ours
)

// format is one way of writing a form. All of a body's bytes are in its pieces, in their order.
type format interface {
	// end returns how many bytes of the window belong to the piece at its start, for certain, and whether the piece ends there.
	end(window []byte, at windowPlace) (n int, done bool)
	// judge tells what a whole piece is, and the token of one of ours. The body's
	// first piece has nothing before its text; the others have what separates them.
	judge(piece []byte, first bool) (role, string)
	// pair returns the name and the value of a whole piece that is written as browsers
	// write it, about which readers agree; "" otherwise.
	pair(sp span) (name, value string)
	// long returns an error that wraps [ErrAmbiguous] if a piece that is too long to
	// be judged, of which this is the start, must not be passed on.
	long(start []byte, first bool) error
	// joined reports whether the separator goes when nothing is before it.
	joined() bool
}

// windowPlace is the position of a window in the body.
type windowPlace struct {
	first  bool // in the body's first piece
	inside bool // behind the piece's first byte
}

// span is a run of bytes of one piece.
type span struct {
	data   []byte // until the next span
	role   role
	token  string
	first  bool // it is of the body's first piece
	begins bool // it has the first byte of its piece
	ends   bool // it has the last one
}

// splitter cuts a body into spans. Where it cuts pieces does not depend on how the reader hands out the bytes. Pieces that are
// longer than maxPieceBytes come in several spans, and are content.
type splitter struct {
	from       io.Reader
	format     format
	buf        []byte
	start, end int
	err        error
	at         windowPlace
}

func newSplitter(r io.Reader, f format) *splitter {
	return &splitter{from: r, format: f, at: windowPlace{first: true}}
}

// next returns the next span; io.EOF at the end of the body; any other error is the reader's.
func (s *splitter) next() (span, error) {
	for {
		window := s.buf[s.start:s.end]
		if s.err != nil && !errors.Is(s.err, io.EOF) {
			return span{}, s.err
		}
		if s.err != nil && len(window) == 0 {
			return span{}, io.EOF
		}
		n, done := s.format.end(window, s.at)
		if !done && s.err != nil {
			n, done = len(window), true
		}
		if done || n > maxPieceBytes || (s.at.inside && n > 0) {
			return s.takeSpan(n, done)
		}
		s.fill()
	}
}

// takeSpan hands out the next n bytes.
func (s *splitter) takeSpan(n int, done bool) (span, error) {
	sp := span{data: s.buf[s.start : s.start+n], first: s.at.first, begins: !s.at.inside, ends: done}
	switch {
	case !sp.begins:
	case n > maxPieceBytes:
		if err := s.format.long(sp.data, sp.first); err != nil {
			s.err = err
			return span{}, err
		}
	default:
		sp.role, sp.token = s.format.judge(sp.data, sp.first)
	}
	s.start += n
	s.at.inside = !done
	if done {
		s.at.first = false
	}
	return sp, nil
}

// fill reads once, behind what is held.
func (s *splitter) fill() {
	held := s.buf[s.start:s.end]
	if s.buf == nil || (len(s.buf) < windowBytes && s.end == len(s.buf)) {
		s.buf = make([]byte, min(windowBytes, max(firstBytes, 4*len(s.buf))))
	}
	if s.start > 0 || s.end > 0 {
		s.end = copy(s.buf, held)
		s.start = 0
	}
	for range maxEmptyReads {
		var n int
		n, s.err = s.from.Read(s.buf[s.end:])
		s.end += n
		if n > 0 || s.err != nil {
			return
		}
	}
	s.err = io.ErrNoProgress
}

// joiner leaves out the separator before the first piece that is kept.
type joiner struct {
	format format
	any    bool
}

func (j *joiner) keep(sp *span) []byte {
	data := sp.data
	if sp.begins && !sp.first && !j.any && j.format.joined() {
		data = data[1:]
	}
	j.any = true
	return data
}

// whole is a body that is not a form.
type whole struct{}

func (whole) end(window []byte, _ windowPlace) (int, bool) { return len(window), false }
func (whole) judge(_ []byte, _ bool) (role, string)        { return content, "" }
func (whole) long(_ []byte, _ bool) error                  { return nil }
func (whole) joined() bool                                 { return false }
func (whole) pair(span) (name, value string)               { return "", "" }

// ImagePrefix begins the value of a field that [Scan] takes for a note: the name of the
// image button that follows it. A browser sends where such a button was pressed,
// as NAME.x and NAME.y behind the note. A second press is elsewhere, and is the same wish;
// a field of that name without the note counts.
const ImagePrefix = Prefix + "image."

// PasswordNote is the value of a field that [Scan] takes for a note: the form asks for a password.
const PasswordNote = Prefix + "password"

// pressed holds the names of an image button's fields that may still come.
type pressed []string

// add starts with the value of a token field that is a note.
func (p *pressed) add(value string) {
	if name, ok := strings.CutPrefix(value, ImagePrefix); ok {
		*p = pressed{strings.TrimPrefix(name+".x", "."), strings.TrimPrefix(name+".y", ".")}
	}
}

// takes returns the name of the field if it is the next one of the button, with a number.
func (p *pressed) takes(f format, sp *span) string {
	if len(*p) == 0 || !sp.begins {
		return ""
	}
	name, value := f.pair(*sp)
	if name != (*p)[0] || value == "" || strings.Trim(value, "0123456789") != "" {
		*p = nil
		return ""
	}
	*p = (*p)[1:]
	return name
}

// Changes reports whether a field changes with every rendering of a form, whatever a person
// wants to send: the tokens against forgery of well-known frameworks, and
// the answers of captchas. The names are those of testdata/vectors/formfields.json, which
// the scripts in web share.
func Changes(name string) bool {
	switch name {
	case
		"csrfmiddlewaretoken",        // Django
		"authenticity_token",         // Rails
		"_token",                     // Laravel, Symfony
		"_csrf",                      // Spring Security, Express
		"_csrf_header",               // where a page has copied Spring's meta elements
		"_csrf_token",                // Phoenix, Symfony's login
		"_csrfToken",                 // CakePHP
		"csrf_token",                 // Flask-WTF, nosurf
		"csrf_test_name",             // CodeIgniter
		"csrfToken",                  // Play
		"CSRFToken",                  // OWASP's examples
		"csrf",                       // where people name it themselves
		"__RequestVerificationToken", // ASP.NET
		"gorilla.csrf.Token",         // gorilla/csrf
		"_wpnonce", "_ajax_nonce",    // WordPress
		"wpEditToken", "wpLoginToken", // MediaWiki
		"form_build_id",                                     // Drupal
		"form_token",                                        // Drupal, phpBB
		"sectok",                                            // DokuWiki
		"sesskey",                                           // Moodle
		"form_key",                                          // Magento
		"_csrf-frontend", "_csrf-backend", "YII_CSRF_TOKEN", // Yii
		"_xsrf",                                        // Tornado
		"SYNCHRONIZER_TOKEN",                           // Grails
		"struts.token",                                 // Struts
		"_authenticator",                               // Plone
		"SecurityID",                                   // SilverStripe
		"__anti-forgery-token",                         // Ring
		"h-captcha-response",                           // hCaptcha
		"cf-turnstile-response",                        // Turnstile
		"frc-captcha-solution", "frc-captcha-response", // Friendly Captcha
		"altcha",                                                   // ALTCHA
		"smart-token",                                              // Yandex SmartCaptcha
		"procaptcha-response",                                      // Prosopo
		"mtcaptcha-verifiedtoken",                                  // MTCaptcha
		"fc-token",                                                 // Arkose
		"cap-token",                                                // Cap
		"mcaptcha__token",                                          // mCaptcha
		"geetest_challenge", "geetest_validate", "geetest_seccode", // Geetest
		"_wpcf7_recaptcha_response": // Contact Form 7
		return true
	}
	return strings.HasSuffix(name, "[_token]") || strings.HasSuffix(name, "[_csrf_token]") || // Symfony, Phoenix
		strings.HasPrefix(name, "_Token[") || strings.HasPrefix(name, "data[_Token]") || // CakePHP
		strings.HasPrefix(name, "g-recaptcha-response") // several in a page have a number, or an action
}
