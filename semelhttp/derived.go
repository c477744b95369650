package semelhttp

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/browserkey"
	"github.com/semel-dev/semel/internal/formfields"
)

// DerivedKey says what a request is recognised by when its caller sends no
// Idempotency-Key.
type DerivedKey struct {
	// Fields are names of form fields, or of members at the top of a JSON body;
	// with a leading slash, JSON pointers. Nil: the whole body counts.
	Fields []string
	// Cookies and Headers count in addition to the fields, such as the session's cookie.
	// Headers that always count in a fingerprint (see [FingerprintOptions]) also count here.
	Cookies, Headers []string
}

// Derived makes the key out of what the request says, for callers that send
// none. Two requests that agree in everything chosen are one intent, so give
// the guard a policy whose retention is the window within which a repetition is
// an accident: seconds, not a day. An Idempotency-Key in the request is its key: it
// tells two intents with the same content apart. A browser's own key, another one
// for each click, does not count. If callers send keys, put a middleware
// with a longer retention in front of this one for them.
//
// A request that has none of the Fields has no key. One with a field or member whose
// name some applications read as a chosen one is refused, because the key would leave
// out what they act on: another letter case, "who[]" and "who[x]" for "who", spaces in
// front, and what follows a NUL; in a form also dots and spaces for underscores. If a
// form has both names, choose both. [New] reports fields that are not valid, and fields
// that differ in letter case alone.
func Derived(d DerivedKey) KeySource {
	s := &derivedSource{cookies: slices.Clone(d.Cookies), wholeBody: d.Fields == nil}
	for _, name := range d.Headers {
		s.headers = append(s.headers, http.CanonicalHeaderKey(name))
	}
	for _, name := range d.Fields {
		field := derivedField{name: name}
		pointer := name
		if !strings.HasPrefix(name, "/") {
			pointer = "/" + strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
		}
		path, err := parsePointer(pointer)
		field.path, s.err = path, errors.Join(s.err, err)
		for i := range s.fields {
			if foldsOnly(path, s.fields[i].path) {
				s.err = errors.Join(s.err, fmt.Errorf("semelhttp: derived key: the fields %q and %q differ in letter case alone", s.fields[i].name, name))
			}
		}
		s.fields = append(s.fields, field)
	}
	s.names = formfields.NamesOf(d.Fields...)
	if !s.wholeBody && len(s.fields) == 0 {
		s.err = errors.New("semelhttp: derived key: Fields is empty (nil means the whole body)")
	}
	return s
}

// foldsOnly reports whether two paths part at names that differ in letter case
// alone, so that a request with both is refused.
func foldsOnly(a, b []string) bool {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return strings.EqualFold(a[i], b[i])
		}
	}
	return false
}

type derivedSource struct {
	fields           []derivedField
	names            formfields.Names // of the fields, in their order
	cookies, headers []string
	wholeBody        bool
	err              error // what is wrong with the fields
}

func (s *derivedSource) check() error { return s.err }

type derivedField struct {
	name string
	path []string
}

// Key implements [KeySource].
func (s *derivedSource) Key(r *http.Request, body *Body) (string, bool, error) {
	if s.err != nil {
		return "", false, s.err
	}
	if len(r.Header[DefaultHeader]) > 0 && !browserkey.Added(r.Header.Values) {
		return (&headerSource{name: DefaultHeader}).Key(r, body)
	}
	var h semel.Hasher
	h.Add("derived/1")
	for _, name := range s.cookies {
		h.Add(name)
		addCookies(&h, r.Header["Cookie"], name)
	}
	header := asRead(r.Header)
	for _, name := range s.headers {
		h.Add(name)
		for _, line := range header[name] {
			h.Add("=" + line)
		}
	}
	addSteering(&h, header, s.headers)
	found, err := s.addBody(&h, r, body)
	if err != nil || !found {
		return "", false, err
	}
	return "derived:" + h.Sum().String(), true, nil
}

// String implements [KeySource].
func (s *derivedSource) String() string {
	what := "the whole body"
	if !s.wholeBody {
		names := make([]string, len(s.fields))
		for i := range s.fields {
			names[i] = s.fields[i].name
		}
		what = "the fields " + strings.Join(names, ", ")
	}
	return "derived from " + what
}

// addCookies adds every value of the cookie as it came: net/http drops values
// that applications read, and their callers must not all be the same one.
func addCookies(h *semel.Hasher, lines []string, name string) {
	for _, line := range lines {
		for pair := range strings.SplitSeq(line, ";") {
			key, value, _ := strings.Cut(pair, "=")
			if strings.Trim(key, " \t") == name {
				h.Add("=" + strings.Trim(value, " \t"))
			}
		}
	}
}

// addBody adds what counts of the body, and reports whether there was any.
func (s *derivedSource) addBody(h *semel.Hasher, r *http.Request, body *Body) (bool, error) {
	if s.wholeBody {
		from, err := body.Open()
		if err != nil {
			return false, err
		}
		length, err := body.Len()
		if err != nil {
			return false, err
		}
		return true, addCanonicalBody(h, r.Header, from, canonicalRules{multipart: true, maxBytes: length})
	}
	if length, err := body.Len(); err != nil || length == 0 {
		return false, err
	}
	found, isJSON, err := s.addMembers(h, r, body)
	switch {
	case !isJSON:
		return s.addFields(h, r, body)
	case errors.Is(err, semel.ErrKeyInvalid) && r.Header.Get("Content-Type") == "":
		return false, nil // it did not say that it was JSON
	}
	return found, err
}

func (s *derivedSource) addMembers(h *semel.Hasher, r *http.Request, body *Body) (found, isJSON bool, err error) {
	paths := make([][]string, len(s.fields))
	for i := range s.fields {
		paths[i] = s.fields[i].path
	}
	values, err := searchJSON(r, body, paths...)
	if err != nil || values == nil {
		return false, err != nil, err
	}
	for i, raw := range values {
		h.Add(s.fields[i].name)
		if raw == nil {
			continue
		}
		found = true
		sum, err := canonicalJSON(bytes.NewReader(raw), int64(len(raw)))
		if errors.Is(err, errNotCanonical) {
			h.Add("=" + string(raw))
			continue
		}
		if err != nil {
			return false, true, err
		}
		h.AddBytes(sum[:])
	}
	return found, true, nil
}

func (s *derivedSource) addFields(h *semel.Hasher, r *http.Request, body *Body) (found bool, err error) {
	values := make([]semel.Hasher, len(s.fields)) // the fields come in any order
	err = eachField(r, body, func(f formfields.Field) error {
		i, err := findField(&s.names, f.Name)
		if i >= 0 {
			values[i].Add(f.Value)
			found = true
		}
		return err
	})
	for i := range s.fields {
		sum := values[i].Sum()
		h.Add(s.fields[i].name)
		h.AddBytes(sum[:])
	}
	return found, err
}
