package semelhttp

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"io"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	// maxJSONDepth bounds how deep arrays and objects are nested.
	maxJSONDepth = 64
	// maxJSONMembers bounds the members of all objects open at a time, and so
	// the memory: 64 bytes each.
	maxJSONMembers = 1 << 15
	// maxJSONNumber bounds the literal of a number.
	maxJSONNumber = 256
)

// The first byte of a value in the canonical stream. Every token's length
// follows from what it starts with, so no two values have the same stream.
const (
	jsonNull   = 'n'
	jsonTrue   = 't'
	jsonFalse  = 'f'
	jsonNumber = '#' // then 2 bytes of length, big-endian, and the literal
	jsonString = 's' // then SHA-256 of the value in UTF-8
	jsonArray  = '[' // then the elements
	jsonEnd    = ']' // ends the elements
	jsonObject = '{' // then 4 bytes of count, big-endian, and members by key digest
)

// canonicalJSON digests what a JSON text says. The order of members and white
// space do not count; numbers count by their literal text, strings by their
// value. An object is hashed as its members in the order of their keys'
// digests: SHA-256 of the key, then SHA-256 of the value's stream.
//
// It returns errNotCanonical, and the raw bytes should count, for whatever
// readers disagree about or what is over a bound: text that is not JSON,
// duplicate member names, invalid UTF-8, lone surrogates, more than maxBytes
// bytes, maxJSONDepth levels or maxJSONMembers open members, numbers longer
// than maxJSONNumber. Any other error is one of reading.
func canonicalJSON(r io.Reader, maxBytes int64) ([sha256.Size]byte, error) {
	in := &canonicalReader{from: r, left: maxBytes}
	c := jsonCanon{in: bufio.NewReader(in), text: sha256.New()}
	var sum [sha256.Size]byte
	out := c.hashAt(0)
	if !c.value(out, 0) || !c.atEnd() {
		return sum, in.verdict()
	}
	out.Sum(sum[:0])
	return sum, in.err
}

// jsonCanon is one run of canonicalJSON. Its methods report false when the
// text is to be counted raw.
type jsonCanon struct {
	in      *bufio.Reader
	hashes  []hash.Hash // one for each level of objects
	text    hash.Hash   // for strings
	members []jsonMember
	scratch []byte
}

type jsonMember struct {
	key, value [sha256.Size]byte
}

// hashAt returns the hash of the level, empty.
func (c *jsonCanon) hashAt(level int) hash.Hash {
	for len(c.hashes) <= level {
		c.hashes = append(c.hashes, sha256.New())
	}
	c.hashes[level].Reset()
	return c.hashes[level]
}

// value reads one value and writes its stream to out.
func (c *jsonCanon) value(out hash.Hash, depth int) bool {
	b, ok := c.next()
	if !ok || (depth == maxJSONDepth && (b == '{' || b == '[')) {
		return false
	}
	switch b {
	case '{':
		return c.object(out, depth+1)
	case '[':
		return c.array(out, depth+1)
	case '"':
		sum, ok := c.string()
		c.write(out, jsonString, sum[:])
		return ok
	case 'n':
		return c.literal("null"[1:]) && c.write(out, jsonNull, nil)
	case 't':
		return c.literal("true"[1:]) && c.write(out, jsonTrue, nil)
	case 'f':
		return c.literal("false"[1:]) && c.write(out, jsonFalse, nil)
	}
	return c.number(out, b)
}

func (c *jsonCanon) write(out hash.Hash, token byte, rest []byte) bool {
	c.scratch = append(append(c.scratch[:0], token), rest...)
	out.Write(c.scratch)
	return true
}

func (c *jsonCanon) array(out hash.Hash, depth int) bool {
	c.write(out, jsonArray, nil)
	b, ok := c.next()
	if ok && b == ']' {
		return c.write(out, jsonEnd, nil)
	}
	if !ok || c.in.UnreadByte() != nil {
		return false
	}
	for c.value(out, depth) {
		switch b, _ := c.next(); b {
		case ',':
		case ']':
			return c.write(out, jsonEnd, nil)
		default:
			return false
		}
	}
	return false
}

func (c *jsonCanon) object(out hash.Hash, depth int) bool {
	base := len(c.members)
	b, ok := c.next()
	if ok && b == '}' {
		return c.endObject(out, base)
	}
	for ok && b == '"' && len(c.members) < maxJSONMembers && c.member(depth) {
		switch b, _ = c.next(); b {
		case ',':
			b, ok = c.next()
		case '}':
			return c.endObject(out, base)
		default:
			return false
		}
	}
	return false
}

// member reads what follows the opening quote of a member's name.
func (c *jsonCanon) member(depth int) bool {
	key, ok := c.string()
	if !ok {
		return false
	}
	if b, _ := c.next(); b != ':' {
		return false
	}
	at := len(c.members)
	c.members = append(c.members, jsonMember{key: key}) // counts while its value is open
	inner := c.hashAt(depth)
	if !c.value(inner, depth) {
		return false
	}
	inner.Sum(c.members[at].value[:0])
	return true
}

// endObject writes the object of the members from base on, unless two of them
// have the same name.
func (c *jsonCanon) endObject(out hash.Hash, base int) bool {
	own := c.members[base:]
	slices.SortFunc(own, func(a, b jsonMember) int { return bytes.Compare(a.key[:], b.key[:]) })
	var count [4]byte
	binary.BigEndian.PutUint32(count[:], uint32(len(own))) //nolint:gosec // at most maxJSONMembers.
	c.write(out, jsonObject, count[:])
	for i := range own {
		if i > 0 && own[i].key == own[i-1].key {
			return false
		}
		out.Write(own[i].key[:])
		out.Write(own[i].value[:])
	}
	c.members = c.members[:base]
	return true
}

// string reads the rest of a string, after its opening quote, and returns the
// digest of its value.
func (c *jsonCanon) string() (sum [sha256.Size]byte, ok bool) {
	c.text.Reset()
	buf := c.scratch[:0]
	for {
		r, size, err := c.in.ReadRune()
		switch {
		case err != nil || r < 0x20 || (r == utf8.RuneError && size == 1):
			return sum, false
		case r == '"':
			c.text.Write(buf)
			c.text.Sum(sum[:0])
			c.scratch = buf[:0]
			return sum, true
		case r == '\\':
			if r, ok = c.escape(); !ok {
				return sum, false
			}
		}
		if buf = utf8.AppendRune(buf, r); len(buf) >= 512 {
			c.text.Write(buf)
			buf = buf[:0]
		}
	}
}

// escape reads what follows a backslash.
func (c *jsonCanon) escape() (rune, bool) {
	b, err := c.in.ReadByte()
	if err != nil {
		return 0, false
	}
	switch b {
	case '"', '\\', '/':
		return rune(b), true
	case 'b':
		return '\b', true
	case 'f':
		return '\f', true
	case 'n':
		return '\n', true
	case 'r':
		return '\r', true
	case 't':
		return '\t', true
	case 'u':
		return c.unicode()
	}
	return 0, false
}

// unicode reads what follows \u: four digits, or a pair of surrogates.
func (c *jsonCanon) unicode() (rune, bool) {
	r, ok := c.hex4()
	if !ok || !utf16.IsSurrogate(r) {
		return r, ok
	}
	if !c.literal(`\u`) {
		return 0, false
	}
	low, ok := c.hex4()
	r = utf16.DecodeRune(r, low)
	return r, ok && r != utf8.RuneError
}

func (c *jsonCanon) hex4() (rune, bool) {
	var r rune
	for range 4 {
		b, err := c.in.ReadByte()
		switch {
		case err != nil:
			return 0, false
		case '0' <= b && b <= '9':
			b -= '0'
		case 'a' <= b && b <= 'f':
			b -= 'a' - 10
		case 'A' <= b && b <= 'F':
			b -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(b)
	}
	return r, true
}

// number reads the number that starts with first.
func (c *jsonCanon) number(out hash.Hash, first byte) bool {
	lit := make([]byte, 2, 32)
	for b := first; ; {
		switch {
		case '0' <= b && b <= '9', b == '-', b == '+', b == '.', b == 'e', b == 'E':
			lit = append(lit, b)
		default:
			if c.in.UnreadByte() != nil {
				return false
			}
			return c.endNumber(out, lit)
		}
		var err error
		if b, err = c.in.ReadByte(); err == io.EOF {
			return c.endNumber(out, lit)
		} else if err != nil || len(lit) > 2+maxJSONNumber {
			return false
		}
	}
}

// endNumber writes the number whose literal follows two bytes left free.
func (c *jsonCanon) endNumber(out hash.Hash, lit []byte) bool {
	binary.BigEndian.PutUint16(lit, uint16(len(lit)-2)) //nolint:gosec // at most maxJSONNumber.
	return isJSONNumber(lit[2:]) && len(lit) <= 2+maxJSONNumber && c.write(out, jsonNumber, lit)
}

// isJSONNumber checks the grammar of RFC 8259 section 6.
func isJSONNumber(lit []byte) bool {
	lit = bytes.TrimPrefix(lit, []byte("-"))
	if bytes.HasPrefix(lit, []byte("0")) {
		lit = lit[1:]
	} else if !eatDigits(&lit) {
		return false
	}
	if bytes.HasPrefix(lit, []byte(".")) {
		if lit = lit[1:]; !eatDigits(&lit) {
			return false
		}
	}
	if len(lit) > 0 && (lit[0] == 'e' || lit[0] == 'E') {
		lit = lit[1:]
		if len(lit) > 0 && (lit[0] == '+' || lit[0] == '-') {
			lit = lit[1:]
		}
		if !eatDigits(&lit) {
			return false
		}
	}
	return len(lit) == 0
}

// eatDigits removes the digits at the start and reports whether there were any.
func eatDigits(lit *[]byte) bool {
	n := 0
	for n < len(*lit) && '0' <= (*lit)[n] && (*lit)[n] <= '9' {
		n++
	}
	*lit = (*lit)[n:]
	return n > 0
}

// literal reads exactly these bytes.
func (c *jsonCanon) literal(want string) bool {
	for i := range len(want) {
		if b, err := c.in.ReadByte(); err != nil || b != want[i] {
			return false
		}
	}
	return true
}

// next returns the next byte that is not white space.
func (c *jsonCanon) next() (byte, bool) {
	for {
		b, err := c.in.ReadByte()
		if err != nil {
			return 0, false
		}
		if b != ' ' && b != '\t' && b != '\n' && b != '\r' {
			return b, true
		}
	}
}

// atEnd reports whether nothing but white space follows.
func (c *jsonCanon) atEnd() bool {
	_, more := c.next()
	return !more
}
