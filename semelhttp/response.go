package semelhttp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

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
	e, err := openEnvelope(data)
	if err != nil {
		return nil, err
	}
	r := &Response{Status: e.status, BodyOmitted: e.omitted, Body: e.body, Header: http.Header{}}
	if err := e.head.into(r.Header); err != nil {
		return nil, err
	}
	if e.trailer != "" {
		r.Trailer = http.Header{}
		if err := e.trailer.into(r.Trailer); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// envelope is an opened one; the blocks are not read yet.
type envelope struct {
	status        int
	omitted       bool
	head, trailer block
	body          []byte
}

func openEnvelope(data []byte) (envelope, error) {
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
	e.head, rest = block(rest[:head]), rest[head:]
	e.body, e.trailer = rest[:body:body], block(rest[body:])
	return e, nil
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

// block is the head or the trailer of an envelope, copied out of it.
type block string

// into sets every field of the block in h, replacing what is there. It leaves out what
// older records hold about the page that asked first. It costs one allocation however
// many fields there are.
func (b block) into(h http.Header) error {
	r := blockReader{text: string(b)}
	total := r.number()
	if r.bad || total > uint64(len(b)) { // every value takes at least a byte
		return errEnvelope
	}
	values := make([]string, 0, total)
	for r.at < len(r.text) && !r.bad {
		name, n := r.string(), r.number()
		if r.bad || name == "" || n > total-uint64(len(values)) {
			return errEnvelope
		}
		from := len(values)
		for range n {
			values = append(values, r.string())
		}
		if !crossorigin.ForOrigin(name) {
			h[name] = values[from:len(values):len(values)]
		}
	}
	if r.bad {
		return errEnvelope
	}
	return nil
}

// each calls visit for every field, until it says that one is not to be sent.
// The values are valid until visit returns.
func (b block) each(visit func(name string, values []string) bool) error {
	var room [4]string
	values := room[:0]
	r := blockReader{text: string(b)}
	total := r.number()
	if r.bad || total > uint64(len(b)) {
		return errEnvelope
	}
	for r.at < len(r.text) {
		name, n := r.string(), r.number()
		if r.bad || name == "" || n > total {
			return errEnvelope
		}
		for values = values[:0]; n > 0 && !r.bad; n-- {
			values = append(values, r.string())
		}
		if r.bad {
			return errEnvelope
		}
		if !visit(name, values) {
			return fmt.Errorf("%w: the header %.40q cannot be sent as recorded", errEnvelope, name)
		}
	}
	return nil
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
