package ids

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strings"

	"github.com/semel-dev/semel"
)

const (
	separator = ":"
	// emptyPart represents "", so that Compose("") is a key and Compose("", "")
	// another one. No other part looks like it: ~ is always escaped.
	emptyPart = "~"
	// hashedPrefix begins keys that were too long. No other key begins like that.
	hashedPrefix = "~~"

	upperHex = "0123456789ABCDEF"
)

// Compose makes one key of several parts, such as a tenant and a tenant's own
// number. Different parts give different keys, whatever bytes they hold, even a
// separator. Compose("a", "b:c") is "a:b%3Ac" and Compose("a:b", "c") is
// "a%3Ab:c".
//
// The key is a valid name of a [semel.Key], 1 to 255 bytes of ASCII that need no
// quotes in a header. Up to 255 bytes it can be read by people and by [Split]. A
// longer one becomes a SHA-256 of the parts ("~~" and 64 digits), because it
// would be cut off somewhere. Case counts: keep such keys in a BINARY column.
func Compose(first string, rest ...string) string {
	var b strings.Builder
	writePart(&b, first)
	for _, part := range rest {
		b.WriteString(separator)
		writePart(&b, part)
		if b.Len() > semel.MaxKeyBytes {
			break
		}
	}
	if b.Len() > semel.MaxKeyBytes {
		return hashedPrefix + Derive(nil, first, rest...)
	}
	return b.String()
}

func writePart(b *strings.Builder, part string) {
	if part == "" {
		b.WriteString(emptyPart)
	}
	for i := range len(part) {
		if c := part[i]; plain(c) {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', upperHex[c>>4], upperHex[c&15]})
		}
		if b.Len() > semel.MaxKeyBytes {
			return // it will be hashed
		}
	}
}

// plain reports whether a byte is written as it is, because it means nothing in
// URLs, headers, quoted strings and shells.
func plain(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_' || c == '.' || c == '@'
}

// Split undoes [Compose]: Split(Compose(parts...)) is parts. The error is
// [ErrMalformed] for a key that was too long, which holds a hash of its parts, and
// for text that Compose does not write, so that a key has one form only.
func Split(key string) ([]string, error) {
	switch {
	case strings.HasPrefix(key, hashedPrefix):
		if digits := key[len(hashedPrefix):]; len(digits) != 2*sha256.Size || strings.Trim(digits, "0123456789abcdef") != "" {
			return nil, malformed("a composed key that begins with %s goes on with 64 digits", hashedPrefix)
		}
		return nil, malformed("the key was too long, so it holds a hash of its parts and cannot be split")
	case len(key) > semel.MaxKeyBytes:
		return nil, malformed("a composed key has at most %d bytes", semel.MaxKeyBytes)
	}
	parts := strings.Split(key, separator)
	for i, part := range parts {
		var err error
		if parts[i], err = readPart(part); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

func readPart(written string) (string, error) {
	if written == emptyPart {
		return "", nil
	}
	if written == "" {
		return "", malformed("an empty part of a composed key is written %s", emptyPart)
	}
	var b strings.Builder
	for i := 0; i < len(written); i++ {
		c := written[i]
		if plain(c) {
			b.WriteByte(c)
			continue
		}
		if c != '%' || i+2 >= len(written) {
			return "", malformed("a composed key holds a byte that has to be escaped")
		}
		high, low := strings.IndexByte(upperHex, written[i+1]), strings.IndexByte(upperHex, written[i+2])
		escaped := byte(high<<4 | low) //nolint:gosec // used when both are digits.
		if high < 0 || low < 0 || plain(escaped) {
			return "", malformed("a composed key holds an escape that is not written by Compose")
		}
		b.WriteByte(escaped)
		i += 2
	}
	return b.String(), nil
}

// Derive makes a key of 64 hexadecimal digits from the parts that identify an
// intent: SHA-256 of the parts, each after its length. The same parts give the
// same key on every machine; the key does not reveal the parts.
//
// A secret, which every process that derives then needs, makes it HMAC-SHA-256:
// use one where the parts could be guessed and tried, as names and numbers of
// people can. nil means no secret.
//
// A derived key cannot distinguish a second intent from a second attempt: a
// caller that wants the same thing again gets the first one, until the record
// expires. Prefer an id where the caller can mint and keep one.
func Derive(secret []byte, first string, rest ...string) string {
	h := sha256.New()
	if len(secret) > 0 {
		h = hmac.New(sha256.New, secret)
	}
	var size [8]byte
	for _, part := range append([]string{first}, rest...) {
		binary.BigEndian.PutUint64(size[:], uint64(len(part)))
		h.Write(size[:])
		h.Write([]byte(part))
	}
	return hex.EncodeToString(h.Sum(nil))
}
