package formguard

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/maphash"
	"io"
	"slices"
	"strings"
)

const (
	// defaultMaxTokens is enough for a page with a route of its own for each of that many buttons.
	defaultMaxTokens = 64

	digestVersion = "semel form 1"
)

// BodyOptions say what to look for. Nil is complete.
type BodyOptions struct {
	// Field is the name of the hidden field. Default: [DefaultField].
	Field string
	// Ignore lists the names of fields that do not count for the digest, because they change with every rendering of a form.
	// Default, for nil: those that [Changes] knows. An empty list ignores none.
	Ignore []string
	// MaxTokens limits the tokens that are returned; the fields of the others are removed as well. Default: 64.
	MaxTokens int
	// Seed asks for an outline with hashes of this seed. Default: none.
	Seed *maphash.Seed
}

// Result describes a form.
type Result struct {
	// Tokens are the values of the token fields: the body's in their order, then
	// the query's. They are not verified, and have at most [MaxTokenField] bytes each.
	Tokens []string
	// Digest covers query, content type and body, without the token fields and without what does not count.
	Digest [sha256.Size]byte
	// Length is the length of the body without the token fields, as [Strip] leaves it.
	Length int64
	// Found reports whether there was a token field.
	Found bool
	// Password reports whether there was a [PasswordNote].
	Password bool
	// Outline describes the fields that count, if Seed asks for it.
	Outline *Outline
}

// Scan reads a form to its end, in constant memory. contentType is the request's
// (see [FormType]); a body of any other type counts byte by byte, and has no
// tokens. rawQuery is the query of the URL as it was sent.
//
// It stores nothing and bounds nothing but its own memory: the caller limits r.
// It returns [ErrAmbiguous] for a form that must not be passed on, and an error of
// r, both wrapped.
func Scan(r io.Reader, contentType, rawQuery string, o *BodyOptions) (Result, error) {
	if o == nil {
		o = &BodyOptions{}
	}
	n := names{field: orDefault(o.Field), ignore: o.Ignore, known: o.Ignore == nil}
	most := o.MaxTokens
	most = cmp.Or(max(0, most), defaultMaxTokens)
	kind := parseType(contentType)
	if kind.ambiguous {
		return Result{}, errBoundary
	}
	s := newScan(kind, n, most)
	if o.Seed != nil {
		s.outline = newOutline(*o.Seed)
	}
	if err := s.read(r); err != nil {
		return Result{}, fmt.Errorf("formguard: read the body: %w", err)
	}
	query, queryTokens := sift(rawQuery, n, ours, changing)
	s.found(queryTokens...)
	result := Result{Length: s.length, Tokens: s.tokens, Found: len(s.tokens) > 0, Password: s.password, Outline: s.outline}
	s.outline.close(query)
	s.sum(query, &result.Digest)
	return result, nil
}

// scan is one run over a body.
//
// The digest is SHA-256 over these, each after its length in 8 bytes,
// big-endian: the version; the query; the mode; the parameters of the content
// type; SHA-256 over the bytes that count; and for multipart the three of
// [shape].
type scan struct {
	kind    formType
	format  format
	kept    joiner // what Strip leaves
	counted joiner // what counts
	length  int64
	tokens  []string
	most    int // of the tokens
	// password is set once there was a note of one.
	password bool
	content  hash.Hash
	shape    *shape  // for multipart
	pressed  pressed // of the image button that a note has named
	outline  *Outline
}

func newScan(kind formType, n names, most int) *scan {
	f := kind.format(n)
	s := &scan{kind: kind, format: f, most: most, kept: joiner{format: f}, counted: joiner{format: f}, content: sha256.New()}
	if kind.mode == modeMultipart {
		s.shape = newShape(len(kind.boundary) + len("--"))
	}
	return s
}

func (s *scan) read(r io.Reader) error {
	if r == nil {
		return nil
	}
	split := newSplitter(r, s.format)
	for {
		sp, err := split.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		s.add(&sp)
	}
}

func (s *scan) add(sp *span) {
	if sp.role == ours {
		s.pressed.add(sp.token)
		s.found(sp.token)
		return
	}
	if name := s.pressed.takes(s.format, sp); name != "" {
		sp.role = changing
		s.content.Write([]byte("\x00" + name)) // another button is another wish
	}
	s.length += int64(len(s.kept.keep(sp)))
	if sp.role == changing {
		if s.shape != nil {
			s.shape.leaveOut(sp.data)
		}
		return
	}
	data := s.counted.keep(sp)
	if s.shape != nil {
		data = s.shape.add(sp)
	}
	s.outline.add(s.format, sp, data)
	s.content.Write(data)
}

// found keeps the first tokens.
func (s *scan) found(tokens ...string) {
	s.password = s.password || slices.Contains(tokens, PasswordNote)
	tokens = slices.DeleteFunc(tokens, func(token string) bool { return token == PasswordNote || strings.HasPrefix(token, ImagePrefix) })
	room := max(0, s.most-len(s.tokens))
	s.tokens = append(s.tokens, tokens[:min(room, len(tokens))]...)
}

func (s *scan) sum(query string, into *[sha256.Size]byte) {
	h := sha256.New()
	params := s.kind.params
	if s.kind.mode == modeRaw {
		params = s.kind.text
	}
	writeSized(h, digestVersion)
	writeSized(h, query)
	writeSized(h, string(s.kind.mode))
	writeSized(h, params)
	writeSized(h, string(s.content.Sum(nil)))
	if s.shape != nil {
		s.shape.sum(h, &s.kind)
	}
	h.Sum(into[:0])
}

// shape describes how the counted bytes of a multipart body divide into parts, without the boundary.
type shape struct {
	dash     int       // the length of a delimiter
	cuts     hash.Hash // the length of each piece
	left     hash.Hash // the pieces that were left out, and where
	pieces   uint64
	size     uint64
	tail     [2]byte
	closed   bool
	readable bool // as browsers write it
}

func newShape(dash int) *shape {
	return &shape{dash: dash, cuts: sha256.New(), left: sha256.New(), readable: true}
}

// add notes a span and returns its bytes without the delimiter.
func (s *shape) add(sp *span) []byte {
	data := sp.data
	if sp.begins {
		s.readable = s.readable && !s.closed
		s.size, s.tail = 0, [2]byte{}
		if !sp.first {
			data = data[s.dash:]
		}
		s.closed = !sp.first && sp.ends && (string(data) == "--" || string(data) == "--\r\n")
		s.readable = s.readable && (sp.first || s.closed || bytes.HasPrefix(data, []byte("\r\n")))
	}
	s.size += uint64(len(data))
	switch n := len(data); {
	case n >= 2:
		s.tail = [2]byte(data[n-2:])
	case n == 1:
		s.tail = [2]byte{s.tail[1], data[0]}
	}
	if sp.ends {
		s.end(sp.first)
	}
	return data
}

// end ends a piece. Nothing precedes the first delimiter; a part's line begins and ends with a CR LF of its own.
func (s *shape) end(first bool) {
	switch {
	case first:
		s.readable = s.readable && s.size == 0
	case !s.closed:
		s.readable = s.readable && s.size >= 4 && string(s.tail[:]) == "\r\n"
	}
	s.pieces++
	_ = binary.Write(s.cuts, binary.BigEndian, s.size) // a hash does not fail
}

// leaveOut notes a piece that does not count if the body is readable.
func (s *shape) leaveOut(piece []byte) {
	s.readable = s.readable && !s.closed
	_ = binary.Write(s.left, binary.BigEndian, s.pieces)
	writeSized(s.left, string(piece))
}

// sum adds the lengths of the pieces; and, for a body about which readers may
// disagree, the whole content type and what was left out, so that nothing is.
func (s *shape) sum(h hash.Hash, kind *formType) {
	if s.pieces == 0 { // in an empty body, nothing precedes the first delimiter either
		s.end(true)
	}
	writeSized(h, string(s.cuts.Sum(nil)))
	if s.readable && s.closed && kind.plain {
		writeSized(h, "")
		writeSized(h, "")
		return
	}
	writeSized(h, kind.text)
	writeSized(h, string(s.left.Sum(nil)))
}

// Bounds of an outline.
const (
	maxOutlineFields = 64
	maxOutlineName   = 64
)

// Outline describes a form field by field, so that the one in which another form differs can
// be named. [BodyOptions] ask for it. Its sums are worth something in this process alone.
type Outline struct {
	// Sums are a hash of the query and of the fields' names, and one of each field. They are
	// nil for a form with more than 64 fields.
	Sums  []uint64
	names []string

	hash maphash.Hash
}

func newOutline(seed maphash.Seed) *Outline {
	o := &Outline{Sums: make([]uint64, 1)}
	o.hash.SetSeed(seed)
	return o
}

// add takes the bytes of a span that count.
func (o *Outline) add(f format, sp *span, data []byte) {
	if o == nil || o.Sums == nil {
		return
	}
	if sp.begins {
		name, _ := f.pair(*sp)
		if len(name) > maxOutlineName {
			name = ""
		}
		o.names = append(o.names, name)
	}
	_, _ = o.hash.Write(data) // it does not fail
	if !sp.ends {
		return
	}
	o.Sums = append(o.Sums, o.hash.Sum64())
	o.hash.Reset()
	if len(o.Sums) > 1+maxOutlineFields {
		o.Sums, o.names = nil, nil
	}
}

// close adds what is not a field.
func (o *Outline) close(query string) {
	if o == nil || o.Sums == nil {
		return
	}
	for _, text := range append(o.names, query) {
		_ = binary.Write(&o.hash, binary.BigEndian, uint64(len(text)))
		_, _ = o.hash.WriteString(text)
	}
	o.Sums[0] = o.hash.Sum64()
}

// Differs returns the name of the only field in which the form with these sums is another
// one. It is false for the same form, for one with more differences, and where the field
// has no name about which readers agree.
func (o *Outline) Differs(sums []uint64) (name string, ok bool) {
	if o == nil || o.Sums == nil || len(sums) != len(o.Sums) || sums[0] != o.Sums[0] {
		return "", false
	}
	for i, sum := range o.Sums[1:] {
		if sum == sums[i+1] {
			continue
		}
		if ok {
			return "", false
		}
		name, ok = o.names[i], true
	}
	return name, name != ""
}

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
