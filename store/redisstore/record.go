package redisstore

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/redis/rueidis"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/internal/verb"
)

// A record is one string. The scripts know these places too; numbers have
// their highest byte first, times are milliseconds after the claim.
//
//	 0  8 fence            34  8 lease: when it lapses
//	 8  8 claimed, in ms   42  8 retention of the claim
//	16  8 expires          50  4 attempt
//	24  8 settled          54 16 owner
//	32  1 state            70 32 fingerprint
//	33  1 waited for: - w 102  2 bytes of scope, 104 2 bytes of name, 106 scope, name
//
// A settled record goes on with 2 bytes of note, note and outcome. Another
// layout would have other letters for its states.
const (
	restAt  = 16 // where the part begins that the client writes
	scopeAt = 106
	// maxHead bounds what comes before the outcome.
	maxHead = scopeAt + semel.MaxScopeBytes + semel.MaxKeyBytes + 2 + semel.MaxNoteBytes

	letterClaimed   = 'c'
	letterKept      = 'k'
	letterNotKept   = 'n'
	letterUnknown   = 'u'
	letterCancelled = 'x'
	letterReleased  = 'r' // asked for; no record has it
)

var errLayout = fmt.Errorf("%w (or another program uses the prefix: the value is not a record)", semel.ErrNewerRecord)

// appendRest appends a fresh record from byte 16 on.
func appendRest(b []byte, p *semel.ClaimParams) []byte {
	lease, retention := uint64(p.Lease.Milliseconds()), uint64(p.Retention.Milliseconds()) //nolint:gosec // positive: see Validate.
	b = binary.BigEndian.AppendUint64(b, lease+retention)
	b = binary.BigEndian.AppendUint64(b, 0)
	b = append(b, letterClaimed, '-')
	b = binary.BigEndian.AppendUint64(b, lease)
	b = binary.BigEndian.AppendUint64(b, retention)
	b = binary.BigEndian.AppendUint32(b, 1)
	b = append(b, p.Owner[:]...)
	b = append(b, p.Fingerprint[:]...)
	b = binary.BigEndian.AppendUint16(b, uint16(len(p.Scope))) //nolint:gosec // bounded: see Validate.
	b = binary.BigEndian.AppendUint16(b, uint16(len(p.Name)))  //nolint:gosec // bounded: see Validate.
	b = append(b, p.Scope...)
	return append(b, p.Name...)
}

// letters encodes a settlement's state as a record without waiters has it.
func letters(v *semel.Settlement) string {
	switch v.State {
	case semel.StateCompleted:
		if v.Kept {
			return string(letterKept) + "-"
		}
		return string(letterNotKept) + "-"
	case semel.StateUnknown:
		return string(letterUnknown) + "-"
	case semel.StateCancelled:
		return string(letterCancelled) + "-"
	case semel.StateReleased:
		return string(letterReleased) + "-"
	case semel.StateAbsent, semel.StateClaimed, semel.StateFailed, semel.StateUnreadable: // no settlement: see Validate
	}
	return "--"
}

// appendOutcome appends what a settled record ends with.
func appendOutcome(b []byte, v *semel.Settlement) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(len(v.Note))) //nolint:gosec // bounded: see Validate.
	b = append(b, v.Note...)
	return append(b, v.Outcome...)
}

// read turns a record, read at now, into what callers see; its outcome and
// texts share v's memory. It returns [semel.ErrNotFound] for an expired one.
func read(d semel.Digest, now int64, v []byte) (rec semel.Record, err error) {
	if len(v) < restAt+8 {
		return rec, errLayout
	}
	claimed := number(v, 8)
	if now >= claimed+number(v, 16) {
		return rec, semel.ErrNotFound
	}
	if len(v) < scopeAt {
		return rec, errLayout
	}
	rec = semel.Record{
		Digest:     d,
		Fence:      fenceOf(v),
		Attempt:    int(binary.BigEndian.Uint32(v[50:])),
		ClaimedAt:  verb.Time(claimed),
		LeaseUntil: verb.Time(claimed + number(v, 34)),
		ExpiresAt:  verb.Time(claimed + number(v, 16)),
		ReadAt:     verb.Time(now),
	}
	copy(rec.Owner[:], v[54:])
	copy(rec.Fingerprint[:], v[70:])
	if rec.State, rec.Kept, err = state(v[32]); err != nil {
		return rec, err
	}
	scope, name := int(binary.BigEndian.Uint16(v[102:])), int(binary.BigEndian.Uint16(v[104:]))
	v2 := v[scopeAt:]
	if len(v2) < scope+name {
		return rec, errLayout
	}
	rec.Scope, rec.Name = rueidis.BinaryString(v2[:scope]), rueidis.BinaryString(v2[scope:scope+name])
	if rec.State == semel.StateClaimed {
		return rec, nil
	}
	rec.SettledAt = verb.Time(claimed + number(v, 24))
	return rec, readOutcome(&rec, v2[scope+name:])
}

func readOutcome(rec *semel.Record, v []byte) error {
	if len(v) < 2 {
		return errLayout
	}
	note := int(binary.BigEndian.Uint16(v))
	if v = v[2:]; len(v) < note {
		return errLayout
	}
	rec.Note = rueidis.BinaryString(v[:note])
	if v = v[note:]; len(v) > 0 || rec.Kept {
		rec.Outcome = slices.Clip(v)
	}
	return nil
}

func state(letter byte) (s semel.State, kept bool, err error) {
	switch letter {
	case letterClaimed:
		return semel.StateClaimed, false, nil
	case letterKept:
		return semel.StateCompleted, true, nil
	case letterNotKept:
		return semel.StateCompleted, false, nil
	case letterUnknown:
		return semel.StateUnknown, false, nil
	case letterCancelled:
		return semel.StateCancelled, false, nil
	}
	return semel.StateAbsent, false, errLayout
}

func number(v []byte, at int) int64 {
	return int64(binary.BigEndian.Uint64(v[at:])) //nolint:gosec // written as a signed number.
}

func fenceOf(v []byte) semel.Fence { return semel.Fence(binary.BigEndian.Uint64(v)) }

// tagDigits is the length of the hash tag within the digest: records spread over the
// slots of a cluster, and everything about one intent is in one of them.
const tagDigits = 4

// appendKey appends the key of a record: prefix:{9f3c}…, the digest in
// hexadecimal with its first digits as the hash tag.
func (s *Store) appendKey(b []byte, d *semel.Digest) []byte {
	b = append(b, s.opts.Prefix...)
	b = append(b, ':', '{')
	b = hex.AppendEncode(b, d[:tagDigits/2])
	b = append(b, '}')
	return hex.AppendEncode(b, d[tagDigits/2:])
}

func (s *Store) key(d *semel.Digest) string {
	b := make([]byte, 0, len(s.opts.Prefix)+len(":{}")+2*len(d))
	return rueidis.BinaryString(s.appendKey(b, d))
}

// digest reads a key; ok is false when it is not one of a record.
func (s *Store) digest(key string) (d semel.Digest, ok bool) {
	from := len(s.opts.Prefix) + len(":{")
	if len(key) != from+2*len(d)+len("}") || key[from+tagDigits] != '}' {
		return d, false
	}
	d, err := semel.ParseDigest(key[from:from+tagDigits] + key[from+tagDigits+1:])
	return d, err == nil
}

// split parts the answer of a script into the time and the record.
func split(answer *rueidis.RedisMessage) (now int64, v []byte, err error) {
	parts, err := answer.ToArray()
	if err != nil {
		return 0, nil, err
	}
	if len(parts) != 2 {
		return 0, nil, fmt.Errorf("the server answered %d parts, want a time and a record", len(parts))
	}
	if now, err = parts[0].AsInt64(); err != nil {
		return 0, nil, err
	}
	v, err = parts[1].AsBytes()
	return now, v, err
}
