package formguard

import (
	"errors"
	"io"
	"slices"
	"strings"
)

// DefaultField is the name of the hidden field.
const DefaultField = "_semel"

// MaxTokenField is the length of the longest value of a token field, in bytes. A
// longer one belongs to the application, whatever it begins with.
const MaxTokenField = 256

// Strip returns the body without its token fields, and otherwise byte by byte
// as it is. A field goes together with its separator, a part with its delimiter.
// What has no form's content type is returned as it is; so must be an encoded
// body (see [FormType]). An empty field is [DefaultField].
//
// The reader holds 32 kB at most. It is not safe for concurrent use. An error of
// r is returned as it is, and the bytes that were held then are not. A body that
// Scan refuses ends with [ErrAmbiguous] here as well.
func Strip(r io.Reader, contentType, field string) io.Reader {
	kind := parseType(contentType)
	if kind.ambiguous {
		return &refused{}
	}
	if kind.mode == modeRaw {
		return r
	}
	f := kind.format(names{field: orDefault(field)})
	return &stripper{splitter: newSplitter(r, f), joiner: joiner{format: f}}
}

// StripQuery returns the raw query of a URL without its token fields, and
// otherwise as it is. An empty field is [DefaultField].
func StripQuery(rawQuery, field string) string {
	stripped, _ := sift(rawQuery, names{field: orDefault(field)}, ours)
	return stripped
}

// sift returns a query without the pieces of these roles, and its tokens.
func sift(rawQuery string, n names, without ...role) (kept string, tokens []string) {
	if rawQuery == "" {
		return "", nil
	}
	var out []string
	for piece := range strings.SplitSeq(rawQuery, "&") {
		what, token := content, ""
		if len(piece) <= maxPieceBytes {
			what, token = urlencoded{n}.judge([]byte(piece), true)
		}
		if what == ours {
			tokens = append(tokens, token)
		}
		if !slices.Contains(without, what) {
			out = append(out, piece)
		}
	}
	return strings.Join(out, "&"), tokens
}

func orDefault(field string) string {
	if field == "" {
		return DefaultField
	}
	return field
}

// stripper reads the spans that are kept.
type stripper struct {
	splitter *splitter
	joiner   joiner
	rest     []byte
}

func (s *stripper) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if err := s.advance(); err != nil {
		return 0, err
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// advance sees to it that there is a rest.
func (s *stripper) advance() error {
	for len(s.rest) == 0 {
		sp, err := s.splitter.next()
		if err != nil {
			return err
		}
		if sp.role != ours {
			s.rest = s.joiner.keep(&sp)
		}
	}
	return nil
}

// WriteTo implements [io.WriterTo].
func (s *stripper) WriteTo(w io.Writer) (total int64, err error) {
	for {
		switch err := s.advance(); {
		case errors.Is(err, io.EOF):
			return total, nil
		case err != nil:
			return total, err
		}
		n, err := w.Write(s.rest)
		total += int64(n)
		if err == nil && n < len(s.rest) {
			err = io.ErrShortWrite
		}
		s.rest = s.rest[n:]
		if err != nil {
			return total, err
		}
	}
}

// refused is a body that must not be passed on.
type refused struct{}

func (*refused) Read([]byte) (int, error) { return 0, errBoundary }
