package ids

import (
	"crypto/rand"
	"database/sql/driver"
	"encoding/binary"
	"strings"
	"sync"
	"time"
)

const (
	// crockford are the digits of base 32 without I, L, O and U.
	crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	ulidText  = 26
)

// ULID is an identifier of github.com/ulid/spec: 48 bits of milliseconds and 80
// of randomness. It sorts by its time, as bytes and as text alike.
type ULID [16]byte

// ULIDs makes ULIDs, each greater than the ones before it. The zero value is
// ready. It is safe for concurrent use, and must not be copied.
//
// Within one millisecond, and while the clock goes back, an id is the last one
// plus one, as the specification has it. Such an id reveals its neighbours: use
// [UUIDs] where an id must not be guessed.
type ULIDs struct {
	// Now is the clock; nil means [time.Now]. Set it before the first use.
	Now func() time.Time

	mu   sync.Mutex // guards last
	last ULID
}

// New returns the next ULID, or an error, after which it works again in the
// next millisecond. The chance of that is one to 10^15 for a billion ids in one
// millisecond.
func (g *ULIDs) New() (ULID, error) {
	var u ULID
	binary.BigEndian.PutUint64(u[:8], uint64(max(0, clock(g.Now).UnixMilli()))<<16)
	rand.Read(u[6:]) // it never returns an error
	g.mu.Lock()
	defer g.mu.Unlock()
	if u.milli() > g.last.milli() {
		g.last = u
		return u, nil
	}
	next := g.last
	if !next.increment() {
		return ULID{}, errOverflow
	}
	g.last = next
	return next, nil
}

func (u ULID) milli() int64 {
	return int64(binary.BigEndian.Uint64(u[:8]) >> 16)
}

// increment adds one to the random bits, and says whether there was room.
func (u *ULID) increment() bool {
	for i := len(u) - 1; i >= 6; i-- {
		u[i]++
		if u[i] != 0 {
			return true
		}
	}
	return false
}

// ParseULID reads 26 characters in either case. As the specification says, I, L,
// O and U are not read, and the greatest is 7ZZZZZZZZZZZZZZZZZZZZZZZZZ. The error
// wraps [ErrMalformed].
func ParseULID(s string) (ULID, error) {
	var u ULID
	if len(s) != ulidText {
		return u, malformed("a ULID has %d characters", ulidText)
	}
	if s[0] > '7' {
		return u, malformed("the first character of a ULID is a digit up to 7")
	}
	var high, low uint64 // 130 bits, of which the first two are zero
	for i := range len(s) {
		c := s[i]
		if 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		digit := strings.IndexByte(crockford, c)
		if digit < 0 {
			return ULID{}, malformed("character %d of the ULID is not one of Crockford's digits", i+1)
		}
		high = high<<5 | low>>59
		low = low<<5 | uint64(digit)
	}
	binary.BigEndian.PutUint64(u[:8], high)
	binary.BigEndian.PutUint64(u[8:], low)
	return u, nil
}

// String writes 26 characters in upper case.
func (u ULID) String() string {
	var b [ulidText]byte
	high, low := binary.BigEndian.Uint64(u[:8]), binary.BigEndian.Uint64(u[8:])
	for i := len(b) - 1; i >= 0; i-- {
		b[i] = crockford[low&31]
		low = low>>5 | high<<59
		high >>= 5
	}
	return string(b[:])
}

// Time returns the millisecond in the id, which every reader of the id can see.
func (u ULID) Time() time.Time { return time.UnixMilli(u.milli()).UTC() }

// MarshalText implements [encoding.TextMarshaler], for JSON as well.
func (u ULID) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler] with [ParseULID].
func (u *ULID) UnmarshalText(text []byte) error {
	return unmarshal(u, ParseULID, text)
}

// Value gives the text to databases. For a BINARY(16) or a BLOB hand over u[:].
func (u ULID) Value() (driver.Value, error) { return u.String(), nil }

// Scan reads the text, or 16 bytes.
func (u *ULID) Scan(src any) error { return scan(u, ParseULID, src) }
