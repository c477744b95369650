package ids

import (
	"crypto/rand"
	"database/sql/driver"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"sync"
	"time"
)

// uuidText is the length of the only text form.
const uuidText = 36

// UUID is an identifier of RFC 9562. The zero UUID is the Nil UUID. UUIDs of
// version 7 sort by their time, as bytes and as text alike.
type UUID [16]byte

// UUIDs makes UUIDs of version 7, each greater than the ones before it. The zero
// value is ready. It is safe for concurrent use, and must not be copied.
//
// The method is the third of RFC 9562, section 6.2: the twelve bits after the
// milliseconds hold the fraction of the millisecond. Where that is not greater
// than it was in the last id, the last one plus one is taken; so ids grow even
// while the clock stops or goes back, and then run ahead of it, by a millisecond
// for every 4096 ids. The other 62 bits are random in every id: two processes
// that never heard of each other make the same id with a chance of one to 10^18
// for every pair within the same 244 ns.
//
// The order holds within one UUIDs. The order of several processes is that of
// their clocks.
type UUIDs struct {
	// Now is the clock; nil means [time.Now]. Set it before the first use.
	Now func() time.Time

	mu   sync.Mutex // guards last
	last uint64     // 48 bits of milliseconds, 12 bits of their fraction
}

// New returns the next UUID. It cannot fail.
func (g *UUIDs) New() UUID {
	var u UUID
	rand.Read(u[8:]) // it never returns an error
	tick := g.next()
	binary.BigEndian.PutUint64(u[:8], tick>>12<<16|7<<12|tick&0xFFF)
	u[8] = u[8]&0x3F | 0x80
	return u
}

// next returns a tick greater than every one before it.
func (g *UUIDs) next() uint64 {
	now := clock(g.Now)
	const perMilli = int64(time.Millisecond)
	milli := max(0, now.UnixMilli())
	tick := uint64(milli<<12 | int64(now.Nanosecond())%perMilli*4096/perMilli) //nolint:gosec // neither is negative.
	g.mu.Lock()
	defer g.mu.Unlock()
	g.last = max(tick, g.last+1)
	return g.last
}

func clock(now func() time.Time) time.Time {
	if now == nil {
		return time.Now()
	}
	return now()
}

// ParseUUID reads 36 characters as [UUID.String] writes them; hexadecimal digits
// may be in upper case. Every version is read, but only the variant of RFC 9562:
// see [UUID.Version]. The error wraps [ErrMalformed].
func ParseUUID(s string) (UUID, error) {
	var u UUID
	if len(s) != uuidText || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return UUID{}, malformed("a UUID has 32 hexadecimal digits in groups of 8-4-4-4-12")
	}
	digits := s[0:8] + s[9:13] + s[14:18] + s[19:23] + s[24:36]
	if _, err := hex.Decode(u[:], []byte(digits)); err != nil {
		return UUID{}, malformed("a UUID has hexadecimal digits only")
	}
	if u[8]&0xC0 != 0x80 {
		return UUID{}, malformed("the UUID is of another variant than RFC 9562's")
	}
	return u, nil
}

// String writes the UUID as 36 characters in lower case.
func (u UUID) String() string {
	var b [uuidText]byte
	hex.Encode(b[:8], u[:4])
	hex.Encode(b[9:13], u[4:6])
	hex.Encode(b[14:18], u[6:8])
	hex.Encode(b[19:23], u[8:10])
	hex.Encode(b[24:], u[10:])
	b[8], b[13], b[18], b[23] = '-', '-', '-', '-'
	return string(b[:])
}

// Version returns 7 for ids of [UUIDs], another number for other UUIDs.
func (u UUID) Version() int { return int(u[6] >> 4) }

// Time returns the millisecond in a UUID of version 7, which every reader of
// the id can see, and the zero Time for other versions.
func (u UUID) Time() time.Time {
	if u.Version() != 7 {
		return time.Time{}
	}
	return time.UnixMilli(int64(binary.BigEndian.Uint64(u[:8]) >> 16)).UTC()
}

// MarshalText implements [encoding.TextMarshaler], for JSON as well.
func (u UUID) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler] with [ParseUUID].
func (u *UUID) UnmarshalText(text []byte) error {
	return unmarshal(u, ParseUUID, text)
}

// Value gives the text to databases: PostgreSQL's and MariaDB's uuid take it. For
// a BINARY(16) or a BLOB hand over u[:].
func (u UUID) Value() (driver.Value, error) { return u.String(), nil }

// Scan reads the text, or 16 bytes.
func (u *UUID) Scan(src any) error { return scan(u, ParseUUID, src) }

// unmarshal reads text by parse.
func unmarshal[T any](to *T, parse func(string) (T, error), text []byte) error {
	parsed, err := parse(string(text))
	if err == nil {
		*to = parsed
	}
	return err
}

// scan reads a column with the text, or 16 bytes.
func scan[T ~[16]byte](to *T, parse func(string) (T, error), src any) error {
	switch v := src.(type) {
	case string:
		return unmarshal(to, parse, []byte(v))
	case []byte:
		if len(v) == len(*to) {
			*to = T(v)
			return nil
		}
		return unmarshal(to, parse, v)
	}
	return fmt.Errorf("ids: scan a %T: the column holds a %T", *to, src)
}
