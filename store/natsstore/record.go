package natsstore

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/internal/verb"
)

// A record is the body of one message. Numbers have their highest byte first,
// times are milliseconds of the server's clock.
//
//	 0  1 layout             26  8 when the lease ends
//	 1  1 state              34  8 when the record expires
//	 2  8 fence; 0 means     42  4 attempt
//	      the message's      46 16 owner
//	      own sequence       62 32 fingerprint
//	10  8 claimed            94  6 length of scope, name and note, 2 each
//	18  8 settled, or 0     100    scope, name, note, outcome
const (
	layout = '1'

	fenceAt       = 2
	claimedAt     = 10
	settledAt     = 18
	leaseAt       = 26
	expiresAt     = 34
	attemptAt     = 42
	ownerAt       = 46
	fingerprintAt = 62
	lengthsAt     = 94
	textsAt       = 100

	letterClaimed   = 'c'
	letterKept      = 'k'
	letterNotKept   = 'n'
	letterUnknown   = 'u'
	letterCancelled = 'x'
	letterReleased  = 'r'

	// maxHead bounds what comes before the outcome.
	maxHead = textsAt + semel.MaxScopeBytes + semel.MaxKeyBytes + semel.MaxNoteBytes
)

var errLayout = fmt.Errorf("%w (or another program publishes on the stream's subjects: the message is not a record)", semel.ErrNewerRecord)

// appendRecord encodes a record; a fence of 0 is that of the message's own sequence.
func appendRecord(b []byte, rec *semel.Record) []byte {
	var head [textsAt]byte
	head[0], head[1] = layout, letter(rec)
	binary.BigEndian.PutUint64(head[fenceAt:], uint64(rec.Fence))
	putTime(head[claimedAt:], rec.ClaimedAt)
	putTime(head[settledAt:], rec.SettledAt)
	putTime(head[leaseAt:], rec.LeaseUntil)
	putTime(head[expiresAt:], rec.ExpiresAt)
	binary.BigEndian.PutUint32(head[attemptAt:], uint32(rec.Attempt)) //nolint:gosec // it counts takeovers.
	copy(head[ownerAt:], rec.Owner[:])
	copy(head[fingerprintAt:], rec.Fingerprint[:])
	for i, text := range []string{rec.Scope, rec.Name, rec.Note} {
		binary.BigEndian.PutUint16(head[lengthsAt+2*i:], uint16(len(text))) //nolint:gosec // bounded: see Validate.
	}
	b = append(b, head[:]...)
	b = append(b, rec.Scope...)
	b = append(b, rec.Name...)
	b = append(b, rec.Note...)
	return append(b, rec.Outcome...)
}

func putTime(b []byte, t time.Time) {
	if !t.IsZero() {
		binary.BigEndian.PutUint64(b, uint64(t.UnixMilli()))
	}
}

func letter(rec *semel.Record) byte {
	switch rec.State {
	case semel.StateClaimed:
		return letterClaimed
	case semel.StateCompleted:
		if rec.Kept {
			return letterKept
		}
		return letterNotKept
	case semel.StateUnknown:
		return letterUnknown
	case semel.StateCancelled:
		return letterCancelled
	case semel.StateReleased:
		return letterReleased
	case semel.StateAbsent, semel.StateFailed, semel.StateUnreadable: // no store has them
	}
	return 0
}

func state(letter byte) (s semel.State, kept, ok bool) {
	switch letter {
	case letterClaimed:
		return semel.StateClaimed, false, true
	case letterKept:
		return semel.StateCompleted, true, true
	case letterNotKept:
		return semel.StateCompleted, false, true
	case letterUnknown:
		return semel.StateUnknown, false, true
	case letterCancelled:
		return semel.StateCancelled, false, true
	case letterReleased:
		return semel.StateReleased, false, true
	}
	return semel.StateAbsent, false, false
}

// readRecord decodes the body of the message with this sequence. The outcome shares its
// memory.
func readRecord(d semel.Digest, sequence uint64, body []byte) (rec semel.Record, err error) {
	if len(body) < textsAt || body[0] != layout {
		return rec, errLayout
	}
	fence := binary.BigEndian.Uint64(body[fenceAt:])
	if fence == 0 {
		fence = sequence
	}
	rec = semel.Record{
		Digest:     d,
		Fence:      semel.Fence(fence),
		Attempt:    int(binary.BigEndian.Uint32(body[attemptAt:])),
		ClaimedAt:  readTime(body[claimedAt:]),
		LeaseUntil: readTime(body[leaseAt:]),
		ExpiresAt:  readTime(body[expiresAt:]),
	}
	var ok bool
	if rec.State, rec.Kept, ok = state(body[1]); !ok {
		return rec, errLayout
	}
	copy(rec.Owner[:], body[ownerAt:])
	copy(rec.Fingerprint[:], body[fingerprintAt:])
	if rec.State != semel.StateClaimed {
		rec.SettledAt = readTime(body[settledAt:])
	}
	rest := body[textsAt:]
	for i, text := range []*string{&rec.Scope, &rec.Name, &rec.Note} {
		n := int(binary.BigEndian.Uint16(body[lengthsAt+2*i:]))
		if len(rest) < n {
			return rec, errLayout
		}
		*text, rest = string(rest[:n]), rest[n:]
	}
	if len(rest) > 0 || rec.Kept {
		rec.Outcome = slices.Clip(rest)
	}
	return rec, nil
}

func readTime(b []byte) time.Time { return verb.Time(int64(binary.BigEndian.Uint64(b))) } //nolint:gosec // see putTime.
