package gateway

import (
	"encoding/hex"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/semel-dev/semel/outcomelog"
	"github.com/semel-dev/semel/semelhttp"
)

// Applications differ in how they read a path. A request whose path falls under one rule as it is written, and under another, or
// stricter, one as some application may read it, could slip past a rule: it is refused. Everything else is passed on as it came;
// most paths have only one reading.

const (
	// maxReadingBytes bounds a path of which there are several readings.
	maxReadingBytes = 4 << 10
	// maxReadings bounds the readings of a path, and maxReadingsBytes what they have together.
	maxReadings      = 64
	maxReadingsBytes = 64 << 10
)

// overrides are the headers by which applications take another method than the
// one in the request line. Underscores count as dashes, see [dashed].
func overrides() []string {
	return []string{"X-Http-Method-Override", "X-Http-Method", "X-Method-Override"}
}

// foldings are the changes that applications may make to a path before they read it,
// in the order in which they make them. Any of them may be left out.
func foldings() []func(string) string {
	return []func(string) string{
		withoutParameters, // ";x=1", before decoding
		func(p string) string { return decode(p, true) },
		withoutParameters, // "%3Bx=1"
		decoded,           // "%2F", or a second time
		withoutParameters,
		decoded,
		shortest, // overlong UTF-8
		func(p string) string { return strings.ReplaceAll(p, `\`, "/") },
		func(p string) string { return before(p, "\x00") }, // "%00", as in C
		func(p string) string { return before(p, "?#") },   // "%3F", "%23"
		func(p string) string { return before(p, "\n") },   // "%0A", before which $ matches
		lastLine, // and ^ after it
	}
}

// withoutParameters cuts what follows a semicolon off every segment.
func withoutParameters(p string) string {
	if !strings.Contains(p, ";") {
		return p
	}
	segments := strings.Split(p, "/")
	for i, s := range segments {
		segments[i], _, _ = strings.Cut(s, ";")
	}
	return strings.Join(segments, "/")
}

// decoded takes one layer of escapes away, and leaves invalid escapes as they are.
func decoded(p string) string { return decode(p, false) }

// decode is decoded, where keepSlashes says that what a slash or backslash was escaped for stays inside of its segment.
func decode(p string, keepSlashes bool) string {
	if !strings.Contains(p, "%") {
		return p
	}
	out := make([]byte, 0, len(p))
	for i := 0; i < len(p); i++ {
		if p[i] == '%' && i+2 < len(p) {
			var text [1]byte
			_, err := hex.Decode(text[:], []byte(p[i+1:i+3]))
			if err == nil && (!keepSlashes || text[0] != '/' && text[0] != '\\') {
				out = append(out, text[0])
				i += 2
				continue
			}
		}
		out = append(out, p[i])
	}
	return string(out)
}

// before cuts a path at the first of some characters.
func before(p, ends string) string {
	if i := strings.IndexAny(p, ends); i >= 0 {
		return p[:i]
	}
	return p
}

// lastLine returns what follows the last line feed.
func lastLine(p string) string { return p[strings.LastIndex(p, "\n")+1:] }

// shortest writes ASCII that was encoded in more bytes than it needs in one.
func shortest(p string) string {
	out := make([]byte, 0, len(p))
	for i := 0; i < len(p); i++ {
		rest := p[i:]
		tail := func(n int) byte { return rest[n] & 0x3F }
		switch {
		case len(rest) >= 2 && (rest[0] == 0xC0 || rest[0] == 0xC1) && rest[1]>>6 == 2:
			out = append(out, rest[0]<<6|tail(1))
			i++
		case len(rest) >= 3 && rest[0] == 0xE0 && (rest[1] == 0x80 || rest[1] == 0x81) && rest[2]>>6 == 2:
			out = append(out, rest[1]<<6|tail(2))
			i += 2
		case len(rest) >= 4 && rest[0] == 0xF0 && rest[1] == 0x80 && (rest[2] == 0x80 || rest[2] == 0x81) && rest[3]>>6 == 2:
			out = append(out, rest[2]<<6|tail(3))
			i += 3
		default:
			out = append(out, rest[0])
		}
	}
	return string(out)
}

// plainText writes what looks alike alike: compatibility forms, composed or not, capitals.
func plainText(p string) string { return strings.ToLower(norm.NFKC.String(p)) }

// plainTexts applies plainText to several paths. A segment that they share is folded once: no normal
// form joins a slash to what follows it. It reports false for more than maxReadingsBytes: a letter may become eighteen.
func plainTexts(paths []string) ([]string, bool) {
	plain, known, size := make([]string, len(paths)), map[string]string{}, 0
	for i, p := range paths {
		segments := strings.Split(p, "/")
		for j, s := range segments {
			text, seen := known[s]
			if !seen {
				text = plainText(s)
				known[s] = text
			}
			segments[j] = text
		}
		plain[i] = strings.Join(segments, "/")
		if size += len(plain[i]); size > maxReadingsBytes {
			return nil, false
		}
	}
	return plain, true
}

// readings returns the paths that applications may read in an escaped one, each once, without empty and dot segments. They are
// not escaped: an escape that is left in one is literal. A slash at the end stays if it counts. It reports false for more than
// maxReadings, or maxReadingsBytes.
func readings(escaped string, slashCounts bool) ([]string, bool) {
	found, size := []string{escaped}, len(escaped)
	for _, fold := range foldings() {
		for _, p := range found {
			if q := fold(p); !slices.Contains(found, q) {
				found = append(found, q)
				size += len(q)
			}
			if len(found) > maxReadings || size > maxReadingsBytes {
				return nil, false
			}
		}
	}
	for i, p := range found {
		found[i] = cleaned(p, slashCounts)
	}
	slices.Sort(found)
	return slices.Compact(found), true
}

// cleaned takes empty and dot segments out of a path.
func cleaned(p string, slashCounts bool) string {
	clean := path.Clean("/" + p)
	if slashCounts && clean != "/" && strings.HasSuffix(p, "/") {
		clean += "/"
	}
	return clean
}

// oneReading reports whether all applications read the path alike, but for the segments that ServeMux resolves too.
func oneReading(escaped string) bool {
	for i := range len(escaped) {
		switch c := escaped[i]; {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '/', c == '-', c == '_', c == '.', c == '~':
		default:
			return false
		}
	}
	return len(escaped) == 1 || !strings.HasSuffix(escaped, "/")
}

// lenient is a mux with the rules as an application may read them.
type lenient struct {
	exact  *router // paths as the rules write them
	folded *router // Unicode forms and capitals do not count
	plain  bool    // the rules are written in small ASCII letters
}

// newLenient builds the muxes. Patterns that are equal in small letters are
// distinguished by their capitals, and the application must distinguish them as well.
func newLenient(rt *router) *lenient {
	l := &lenient{exact: rt, plain: true, folded: &router{fallback: rt.fallback}}
	for _, pattern := range slices.Sorted(maps.Keys(rt.groups)) {
		at := rt.groups[pattern]
		m := at.routes[0].rule.Match
		method, _, _ := strings.Cut(pattern, " ")
		path := foldPattern(m.Path)
		l.plain = l.plain && path == m.Path
		pattern = method + " " + m.Host + path
		if _, twice := l.folded.groups[pattern]; twice {
			l.folded.groups[pattern] = newGroup([]*route{rt.fallback})
		} else {
			_ = l.folded.add(pattern, at) // a pattern that it refuses is left out
		}
	}
	if l.folded.mux != nil {
		l.folded.layer()
	}
	return l
}

// foldPattern is plainText for a pattern, whose wildcards keep their names. A
// slash at its end is left: ServeMux finds such patterns without it too.
func foldPattern(pattern string) string {
	segments := strings.Split(pattern, "/")
	for i, s := range segments {
		if !strings.HasPrefix(s, "{") {
			segments[i] = escapePath(plainText(decoded(s)))
		}
	}
	return strings.Join(segments, "/")
}

func escapePath(p string) string { return (&url.URL{Path: p}).EscapedPath() }

// slips returns why a request that falls under strict as it is written may slip past
// protection, because an application reads it as one of another rule; "" if it cannot.
func (l *lenient) slips(r *http.Request, strict *route) string {
	methods, agree := readMethods(r)
	escaped := r.URL.EscapedPath()
	paths := []string{r.URL.Path}
	folded := slices.Clone(paths) // the same, or no rule is about a path
	switch {
	case !slices.ContainsFunc(methods, changes):
		return ""
	case !agree:
		return ambiguousPath
	case len(methods) == 1 && (l.exact.mux == nil || l.plain && oneReading(escaped)):
		return ""
	case l.exact.mux == nil, oneReading(escaped):
	case len(escaped) > maxReadingBytes:
		return unreadablePath
	default:
		all, few := readings(escaped, strict != l.exact.fallback)
		if few {
			paths = all
			folded, few = plainTexts(all)
		}
		if !few {
			return unreadablePath
		}
	}
	for i, p := range folded {
		folded[i] = cleaned(p, strict != l.exact.fallback)
	}
	slices.Sort(folded)
	folded = slices.Compact(folded) // some readings differ in nothing else
	for _, method := range methods {
		slips := func(rt *router) func(string) bool {
			return func(p string) bool {
				return slices.ContainsFunc(rt.read(r, method, p), func(found *route) bool { return l.stricter(found, strict, method, r) })
			}
		}
		if slices.ContainsFunc(paths, slips(l.exact)) || slices.ContainsFunc(folded, slips(l.folded)) {
			return ambiguousPath
		}
	}
	return ""
}

// read returns the routes that the request may meet with another method and path. A question mark that is escaped in its path may
// begin a query.
func (rt *router) read(r *http.Request, method, path string) []*route {
	read := *r
	read.Method, read.URL = method, &url.URL{Path: path, RawQuery: r.URL.RawQuery}
	if escaped := r.URL.EscapedPath(); strings.Contains(escaped, "%3F") || strings.Contains(escaped, "%3f") {
		return rt.possible(&read, func(f *facts) { f.doubt("query") })
	}
	return rt.possible(&read, nil)
}

// stricter reports whether the rule that an application's reading falls under protects the request more than, or otherwise than,
// the one that it is treated by.
func (l *lenient) stricter(found, strict *route, method string, r *http.Request) bool {
	there, here := found.protects(method), strict.protects(r.Method)
	switch {
	case !there, here && found == strict:
		return false
	case found != l.exact.fallback:
		return true
	case here:
		return found.rule.Required && !strict.rule.Required
	}
	return found.rule.Required || len(r.Header[canonicalKeyHeader]) > 0
}

// protects reports whether requests with the method are protected.
func (rt *route) protects(method string) bool {
	return rt.rule.Protect && slices.Contains(rt.rule.Match.Methods, method)
}

// changes reports whether a rule can be about the method.
func changes(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodConnect:
		return false
	}
	return true
}

// readMethods returns the methods that applications may take the request for: its own, that in capitals, and the one that headers
// name, and whether these agree on one.
func readMethods(r *http.Request) (methods []string, agree bool) {
	methods = []string{r.Method}
	if upper := strings.ToUpper(r.Method); upper != r.Method {
		methods = append(methods, upper)
	}
	named := ""
	for name, values := range r.Header {
		if !slices.Contains(overrides(), dashed(name)) {
			continue
		}
		for _, value := range values {
			value = strings.ToUpper(strings.TrimSpace(value))
			if value == "" || value == named {
				continue
			}
			if named != "" {
				return append(methods, value), false
			}
			named = value
		}
	}
	if named != "" && !slices.Contains(methods, named) {
		methods = append(methods, named)
	}
	return methods, true
}

// ambiguousPath is the detail for a request whose path or method has two readings.
const ambiguousPath = "Nothing was done. The path or the method can be read in two ways that are treated differently here. Write the path plainly: in the letters and case of the documentation, without escapes, parameters or a slash that it does not need, and the method in the request line alone."

// unreadablePath is the detail for a request whose path has more readings than the gateway compares.
const unreadablePath = "Nothing was done. The path is too long, or has too many escapes, to tell which rule it falls under: it has more than 4096 bytes, or can be read in more than 64 ways, or these have more than 64 KiB together. Write it plainly: in letters, digits and dashes, without escapes, parameters or backslashes that it does not need."

// refuseAmbiguous answers a request that can be read in two ways: it may be meant for the route. The reason is for the log.
func (g *Gateway) refuseAmbiguous(w http.ResponseWriter, r *http.Request, found *route, detail string, reason error) {
	g.decided(&found.rule)(r.Context(), semelhttp.Decision{
		Outcome: outcomelog.AmbiguousRequest, Method: r.Method, Status: http.StatusBadRequest, Err: reason,
	})
	semelhttp.WriteProblem(w, r, semelhttp.Problem{
		Name: "ambiguous-request", Page: "ambiguous-request", Title: "The request can be read in two ways", Status: http.StatusBadRequest,
		Detail: detail,
	})
}
