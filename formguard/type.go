package formguard

import (
	"mime"
	"net/http"
	"regexp"
	"strings"
)

const (
	// maxPlainBoundary is RFC 2046's bound.
	maxPlainBoundary = 70
	// maxBoundaryBytes is how long a boundary may be that is looked for.
	maxBoundaryBytes = 1 << 10
)

type mode string

const (
	modeRaw        mode = "raw"
	modeURLEncoded mode = "urlencoded"
	modeMultipart  mode = "multipart"
	modeText       mode = "text"
)

// formType is what a content type says.
type formType struct {
	mode     mode
	boundary string
	params   string // the parameters that count, always
	text     string // the whole
	plain    bool   // readers agree about the boundary
}

// IsForm reports whether the content type is one of the three that a browser
// sends a form in, with whatever parameters.
func IsForm(contentType string) bool {
	_, ok := modeOf(contentType)
	return ok
}

// FormType returns the content type of a request whose body [Scan] and [Strip]
// can read: one of a form, said once, of a body that is not encoded. It returns
// "" for any other, with which Scan counts the bytes as they are and Strip
// leaves them alone.
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

func modeOf(contentType string) (mode, bool) {
	media, _, _ := strings.Cut(contentType, ";")
	switch strings.ToLower(strings.TrimSpace(media)) {
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
	_, params, _ := strings.Cut(contentType, ";")
	t := formType{mode: m, text: contentType, params: counting(params)}
	if m != modeMultipart {
		return t
	}
	_, parsed, err := mime.ParseMediaType(contentType)
	t.boundary = parsed["boundary"]
	if err != nil || t.boundary == "" || len(t.boundary) > maxBoundaryBytes {
		t.mode = modeRaw
		return t
	}
	t.params, t.plain = withoutBoundary(params)
	return t
}

// counting drops the one parameter that scripts add and forms do not have.
func counting(params string) string {
	params = strings.TrimSpace(params)
	if strings.EqualFold(params, "charset=utf-8") {
		return ""
	}
	return params
}

// withoutBoundary returns the other parameters; plain is false if readers might
// not find the same boundary.
func withoutBoundary(params string) (others string, plain bool) {
	simple := regexp.MustCompile(`^(?i:boundary)=("[0-9A-Za-z_-]{1,70}"|[0-9A-Za-z_-]{1,70})$`)
	found := 0
	var rest []string
	for param := range strings.SplitSeq(params, ";") {
		param = strings.TrimSpace(param)
		switch {
		case simple.MatchString(param):
			found++
		case strings.Contains(strings.ToLower(param), "boundary"), strings.ContainsAny(param, `"'\`):
			return "", false
		case counting(param) != "":
			rest = append(rest, param)
		}
	}
	return strings.Join(rest, ";"), found == 1
}

func (t *formType) format(n names) format {
	switch t.mode {
	case modeURLEncoded:
		return urlencoded{n}
	case modeText:
		return lines{n}
	case modeMultipart:
		return parts{names: n, dash: []byte("--" + t.boundary)}
	}
	return whole{}
}
