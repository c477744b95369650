package formguard

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

const (
	// maxPlainBoundary is RFC 2046's bound.
	maxPlainBoundary = 70
	// maxBoundaryBytes is the length of the longest boundary that is looked for.
	maxBoundaryBytes = 1 << 10
)

// ErrAmbiguous refuses a form that the application might read differently: another boundary, or a part's header that is longer than
// what is read here. No browser sends such a form. The answer to it is 400 (Bad Request).
var ErrAmbiguous = errors.New("formguard: readers of this form may disagree about it")

var errBoundary = fmt.Errorf("%w: the content type does not have one clear boundary", ErrAmbiguous)

type mode string

const (
	modeRaw        mode = "raw"
	modeURLEncoded mode = "urlencoded"
	modeMultipart  mode = "multipart"
	modeText       mode = "text"
)

// formType is a parsed content type.
type formType struct {
	mode     mode
	boundary string
	params   string // the parameters that count, always
	text     string // the whole
	plain    bool   // readers agree about the boundary
	// ambiguous: readers may find different boundaries, and so different fields.
	ambiguous bool
}

// IsForm reports whether the content type is one of the three that a browser sends a form in, with whatever parameters.
func IsForm(contentType string) bool {
	_, ok := modeOf(contentType)
	return ok
}

// FormType returns the content type of a request whose body [Scan] and [Strip] can read: one of a form, said once, of a body that
// is not encoded. It returns "" for any other, with which Scan counts the bytes as they are and Strip leaves them alone.
func FormType(header http.Header) string {
	types := header["Content-Type"]
	if len(types) != 1 || !IsForm(types[0]) {
		return ""
	}
	for _, coding := range header["Content-Encoding"] {
		if c := strings.TrimSpace(coding); c != "" && !strings.EqualFold(c, "identity") {
			return ""
		}
	}
	return types[0]
}

// CheckType returns [ErrAmbiguous] for a request that says its content type more than once, a form's among them, or that of a form
// without one clear boundary. It looks at the header alone; [Scan] and [Strip] look at the rest.
func CheckType(header http.Header) error {
	types := header["Content-Type"]
	if len(types) > 1 && slices.ContainsFunc(types, IsForm) {
		return fmt.Errorf("%w: there are %d content types", ErrAmbiguous, len(types))
	}
	if contentType := FormType(header); contentType != "" {
		if kind := parseType(contentType); kind.ambiguous {
			return errBoundary
		}
	}
	return nil
}

func modeOf(contentType string) (mode, bool) {
	media := strings.TrimSpace(contentType)
	if i := strings.IndexAny(media, ";, \t"); i >= 0 { // as PHP does
		media = media[:i]
	}
	switch strings.ToLower(media) {
	case "application/x-www-form-urlencoded":
		return modeURLEncoded, true
	case "multipart/form-data":
		return modeMultipart, true
	case "text/plain":
		return modeText, true
	}
	return modeRaw, false
}

func parseType(contentType string) formType {
	m, _ := modeOf(contentType)
	params := ""
	if i := strings.IndexAny(contentType, ";,"); i >= 0 {
		params = contentType[i+1:]
	}
	t := formType{mode: m, text: contentType, params: counting(params)}
	if m != modeMultipart {
		return t
	}
	boundary, others, ok := boundaryOf(params)
	switch {
	case !ok:
		t.ambiguous = true
	case boundary == "": // no reader finds parts in it
		t.mode = modeRaw
	default:
		t.boundary = boundary
		t.params = others
		t.plain = plainBoundary(boundary)
	}
	return t
}

// boundaryOf returns the boundary, or none, and the other parameters that count; ok is false if readers may find different ones.
func boundaryOf(params string) (boundary, others string, ok bool) {
	var rest []string
	for param := range strings.SplitSeq(params, ";") {
		param = strings.TrimLeft(param, " \t")
		key, value, _ := strings.Cut(param, "=")
		switch {
		case !strings.Contains(asciiLower(param), "boundary"):
			if c := counting(param); c != "" {
				rest = append(rest, c)
			}
			continue
		case boundary != "" || !strings.EqualFold(key, "boundary"):
			return "", "", false
		}
		if n := len(value); n >= 2 && value[0] == '"' && value[n-1] == '"' {
			value = value[1 : n-1]
		}
		if value == "" || len(value) > maxBoundaryBytes || strings.ContainsAny(value, "\",\\") || strings.TrimSpace(value) != value {
			return "", "", false
		}
		boundary = value
	}
	return boundary, strings.Join(rest, ";"), true
}

// plainBoundary reports whether the boundary is one of those that browsers make
// up. Only these may differ between two forms that are the same.
func plainBoundary(boundary string) bool {
	for _, c := range []byte(boundary) {
		switch {
		case '0' <= c && c <= '9', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '-', c == '_':
		default:
			return false
		}
	}
	return len(boundary) <= maxPlainBoundary
}

// counting drops the one parameter that scripts add and forms do not have.
func counting(params string) string {
	params = strings.TrimSpace(params)
	if strings.EqualFold(params, "charset=utf-8") {
		return ""
	}
	return params
}

func (t *formType) format(n names) format {
	switch t.mode {
	case modeURLEncoded:
		return urlencoded{n}
	case modeText:
		return lines{n}
	case modeMultipart:
		return parts{names: n, dash: []byte("--" + t.boundary)}
	case modeRaw:
	}
	return whole{}
}
