package semelhttp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"

	"github.com/semel-dev/semel/internal/crossorigin"
)

// Response is the outcome of an HTTP intent as it is recorded: what every
// later attempt gets.
type Response struct {
	Status int
	// Header holds what the handler set and may be replayed. A name without
	// values means that the header must not be sent.
	Header  http.Header
	Trailer http.Header
	Body    []byte
	// BodyOmitted is set when only the summary was kept: the status, and of
	// the headers Location and Content-Type.
	BodyOmitted bool
}

// The envelope, all numbers big-endian or uvarint:
//
//	version (1 byte) · flags (1) · status (2) · head length (4) · body length (4)
//	head:    number of values · { name · number of its values · values… }…
//	body
//	trailer: like the head, to the end; empty for none
//
// A name or value is its length and its bytes. The body lies between, so that
// a capture can write head, body and trailer in the order they come.
const (
	envelopeVersion = 1
	envelopePrefix  = 12
	flagBodyOmitted = 1

	maxStatus        = 999
	maxDefinedStatus = 599
)

var (
	errEnvelope = errors.New("semelhttp: the recorded outcome is not an HTTP response (was it recorded through another door?)")
	errNewer    = errors.New("semelhttp: the recorded answer has a form that this program does not know: a newer one recorded it, upgrade this one (or it was recorded through another door)")
)

// MarshalBinary returns the envelope.
func (r *Response) MarshalBinary() ([]byte, error) {
	if r.Status < 100 || r.Status > maxStatus {
		return nil, fmt.Errorf("semelhttp: %d is not a status", r.Status)
	}
	e := appendPrefix(nil, r.Status, r.BodyOmitted)
	e = appendHeader(e, r.Header)
	bodyAt := len(e)
	e = append(e, r.Body...)
	patchPrefix(e, bodyAt, len(r.Body))
	if len(r.Trailer) > 0 {
		e = appendHeader(e, r.Trailer)
	}
	return e, nil
}

// ParseResponse reads an envelope. The body is part of data, not a copy.
func ParseResponse(data []byte) (*Response, error) {
	e, err := openEnvelope(data, nil)
	if err != nil {
		return nil, err
	}
	r := &Response{Status: e.status, BodyOmitted: e.omitted, Body: e.body, Header: http.Header{}}
	set(r.Header, e.head)
	if e.trailer != nil {
		r.Trailer = http.Header{}
		set(r.Trailer, e.trailer)
	}
	return r, nil
}

// envelope is an opened one.
type envelope struct {
	status        int
	omitted       bool
	head, trailer []field
	body          []byte
	spare         []string // room for one value more
}

// openEnvelope reads an envelope. The fields of its head go into room, if they fit.
func openEnvelope(data []byte, room []field) (envelope, error) {
	switch {
	case len(data) < envelopePrefix, data[0] < envelopeVersion:
		return envelope{}, errEnvelope
	case data[0] > envelopeVersion, data[1]&^flagBodyOmitted != 0:
		return envelope{}, errNewer
	}
	e := envelope{status: int(binary.BigEndian.Uint16(data[2:])), omitted: data[1]&flagBodyOmitted != 0}
	head, body := uint64(binary.BigEndian.Uint32(data[4:])), uint64(binary.BigEndian.Uint32(data[8:]))
	rest := data[envelopePrefix:]
	if head+body > uint64(len(rest)) || e.status < 100 || e.status > maxStatus {
		return envelope{}, errEnvelope
	}
	var err error
	if e.head, e.spare, err = readBlock(rest[:head], room); err != nil {
		return envelope{}, err
	}
	e.body, rest = rest[head:][:body:body], rest[head+body:]
	if len(rest) > 0 {
		e.trailer, _, err = readBlock(rest, []field{})
	}
	return e, err
}

// appendPrefix starts an envelope; patchPrefix fills in the lengths.
func appendPrefix(e []byte, status int, omitted bool) []byte {
	var flags byte
	if omitted {
		flags = flagBodyOmitted
	}
	e = append(e, envelopeVersion, flags)
	e = binary.BigEndian.AppendUint16(e, uint16(status)) //nolint:gosec // within 100 and 999.
	return append(e, 0, 0, 0, 0, 0, 0, 0, 0)
}

// patchCount writes n as a uvarint of the five bytes that were left for it.
func patchCount(room []byte, n int) {
	for i := range 4 {
		room[i] = byte(n>>(7*i)) | 0x80 //nolint:gosec // seven bits at a time.
	}
	room[4] = byte(n >> 28) //nolint:gosec // headers have fewer than 2^31 values.
}

func patchPrefix(e []byte, bodyAt, bodyLen int) {
	binary.BigEndian.PutUint32(e[4:], uint32(bodyAt-envelopePrefix)) //nolint:gosec // bounded by Policy.MaxOutcomeBytes.
	binary.BigEndian.PutUint32(e[8:], uint32(bodyLen))               //nolint:gosec // bounded by Policy.MaxOutcomeBytes.
}

// appendHeader writes a block, names in order, so that equal headers give
// equal bytes.
func appendHeader(e []byte, h http.Header) []byte {
	n := 0
	for _, values := range h {
		n += len(values)
	}
	e = binary.AppendUvarint(e, uint64(n))
	for _, name := range slices.Sorted(maps.Keys(h)) {
		e = appendField(e, name, h[name])
	}
	return e
}

func appendField(e []byte, name string, values []string) []byte {
	e = appendText(e, name)
	e = binary.AppendUvarint(e, uint64(len(values)))
	for _, v := range values {
		e = appendText(e, v)
	}
	return e
}

func appendText(e []byte, s string) []byte {
	return append(binary.AppendUvarint(e, uint64(len(s))), s...)
}

// readBlock appends the fields of a head or a trailer to fields. Their text is a copy. It costs two allocations
// however many fields there are, if these have room.
func readBlock(data []byte, fields []field) (_ []field, spare []string, err error) {
	r := blockReader{text: string(data)}
	total := r.number()
	if r.bad || total > uint64(len(data)) { // every value takes at least a byte
		return nil, nil, errEnvelope
	}
	values := make([]string, 0, total+1)
	for r.at < len(r.text) {
		name, n := r.string(), r.number()
		if r.bad || name == "" || n > total-uint64(len(values)) {
			return nil, nil, errEnvelope
		}
		from := len(values)
		for range n {
			values = append(values, r.string())
		}
		if r.bad {
			return nil, nil, errEnvelope
		}
		fields = append(fields, field{name, values[from:len(values):len(values)]})
	}
	return fields, values[total : total : total+1], nil
}

// set sets every field in h, replacing what is there. It leaves out what older
// records hold about the page that asked first.
func set(h http.Header, fields []field) {
	for _, f := range fields {
		if !crossorigin.ForOrigin(f.name) {
			h[f.name] = f.values
		}
	}
}

// blockReader reads numbers and strings; after the first that is cut off, bad
// is set and everything is zero.
type blockReader struct {
	text string
	at   int
	bad  bool
}

func (r *blockReader) number() uint64 {
	var v uint64
	for shift := 0; shift < 35 && r.at < len(r.text); shift += 7 { // 32 bits are enough for any length here
		c := r.text[r.at]
		r.at++
		v |= uint64(c&0x7F) << shift
		if c < 0x80 {
			return v
		}
	}
	r.bad = true
	return 0
}

func (r *blockReader) string() string {
	n := r.number()
	if n > uint64(len(r.text)-r.at) { //nolint:gosec // at is never beyond the end.
		r.bad = true
		return ""
	}
	s := r.text[r.at : r.at+int(n)] //nolint:gosec // compared with the length above.
	r.at += int(n)                  //nolint:gosec // compared with the length above.
	return s
}

const contentLength = "Content-Length"

// sendable reports why a recorded answer must not go out again. Capture records
// nothing of the kind, so such a record was damaged, tampered with, or written
// by something else: what it could do is inject a header, or make a reader take
// the rest of the answer for another one.
func (e *envelope) sendable(method string) error {
	switch {
	case e.omitted:
		return fmt.Errorf("%w: it has no body to replay", errEnvelope)
	case e.status < http.StatusOK:
		return fmt.Errorf("%w: %d is not a final status", errEnvelope, e.status)
	case len(e.body) > 0 && !bodyAllowed(e.status):
		return fmt.Errorf("%w: an answer %d has no body", errEnvelope, e.status)
	}
	for _, f := range e.head {
		ok := (crossorigin.ForOrigin(f.name) || storable(f.name, nil)) && writable(f.name, f.values)
		if textproto.CanonicalMIMEHeaderKey(f.name) == contentLength {
			ok = f.name == contentLength && e.declares(method, f.values)
		}
		if !ok {
			return fmt.Errorf("%w: the header %.40q cannot be sent as recorded", errEnvelope, f.name)
		}
	}
	for _, f := range e.trailer {
		if !trailable(f.name, f.values) {
			return fmt.Errorf("%w: the header %.40q cannot be sent as recorded", errEnvelope, f.name)
		}
	}
	return nil
}

// declares reports whether a recorded Content-Length is true. Without a body
// of its own, an answer to HEAD and a 304 declare that of another answer.
func (e *envelope) declares(method string, values []string) bool {
	if len(values) == 0 {
		return true // it was removed
	}
	n, ok := declaredLength(values)
	switch {
	case !ok || e.status == http.StatusNoContent:
		return false
	case method == http.MethodHead, e.status == http.StatusNotModified:
		return len(e.body) == 0
	}
	return n == int64(len(e.body))
}

// declaredLength reads a Content-Length that all readers take alike: one line,
// digits alone.
func declaredLength(values []string) (int64, bool) {
	if len(values) != 1 {
		return 0, false
	}
	n, err := strconv.ParseUint(values[0], 10, 63)
	return int64(n), err == nil
}

// writable reports whether a header can be written so that every reader takes
// it for the same one: its name is a token, and no value holds a control
// character but tab.
func writable(name string, values []string) bool {
	for i := range len(name) {
		c := name[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
		if !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	for _, v := range values {
		for i := range len(v) {
			if c := v[i]; c < ' ' && c != '\t' || c == 0x7F {
				return false
			}
		}
	}
	return name != ""
}

// trailable is storable and writable for a trailer, which must not say how the
// message is read (RFC 9110, section 6.5.1).
func trailable(name string, values []string) bool {
	switch textproto.CanonicalMIMEHeaderKey(name) {
	case contentLength, "Content-Encoding", "Content-Range", "Content-Type", "Cache-Control", "Expect", "Host",
		"Max-Forwards", "Pragma", "Range", "Realm":
		return false
	}
	return storable(name, nil) && writable(name, values)
}

// recordable returns the values of a header as they may be recorded, and
// whether they may. Line breaks become spaces, as net/http writes them in
// HTTP/1.1.
func (c *capture) recordable(name string, values []string) ([]string, bool) {
	if textproto.CanonicalMIMEHeaderKey(name) == contentLength {
		_, ok := declaredLength(values)
		return values, name == contentLength && c.status != http.StatusNoContent && (ok || len(values) == 0)
	}
	if writable(name, values) {
		return values, true
	}
	breaks := strings.NewReplacer("\r", " ", "\n", " ")
	lines := make([]string, len(values))
	for i, v := range values {
		lines[i] = strings.TrimSpace(breaks.Replace(v))
	}
	return lines, writable(name, lines)
}
