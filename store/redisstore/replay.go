package redisstore

import (
	"context"
	"encoding/binary"
	"errors"
	"sync/atomic"

	"github.com/redis/rueidis"

	"github.com/semel-dev/semel"
)

// maxFinished bounds how many finished intents a store remembers, at 8 bytes each.
const maxFinished = 1 << 13

// finished guesses which intents are settled for good: those that this store
// met so. One may drive another out, and a record may have expired.
type finished [maxFinished]atomic.Uint64

// place returns the slot of the intent, and the mark that it leaves there.
func (f *finished) place(d *semel.Digest) (*atomic.Uint64, uint64) {
	return &f[binary.BigEndian.Uint16(d[8:])%maxFinished], binary.BigEndian.Uint64(d[:])
}

// met remembers the intent if it cannot change any more.
func (f *finished) met(d *semel.Digest, state semel.State) {
	if final(state) {
		at, mark := f.place(d)
		at.Store(mark)
	}
}

func final(state semel.State) bool {
	return state == semel.StateCompleted || state == semel.StateCancelled
}

// replay answers the claim of an intent that was met finished, if it still is,
// without claim.lua: what is settled for good stays as it is until it expires,
// so the record may be read first and the clock afterwards. That is half the
// work for the server, and one trip instead of two in a cluster. ok is false
// when the script must decide.
func (s *Store) replay(ctx context.Context, d *semel.Digest) (rec semel.Record, ok bool, err error) {
	at, mark := s.finished.place(d)
	if at.Load() != mark || s.opts.Replicas > 0 { // which must have what is answered
		return rec, false, nil
	}
	if s.draws != nil {
		rec, err = s.lookup(ctx, *d) // whose clock is that of the record's node
	} else {
		rec, err = s.readPlain(ctx, d)
	}
	gone := rueidis.IsRedisNil(err) || errors.Is(err, semel.ErrNotFound)
	if err != nil && !gone {
		return rec, false, err
	}
	if gone || !final(rec.State) {
		at.CompareAndSwap(mark, 0)
		return rec, false, nil
	}
	return rec, true, nil
}

// readPlain reads a record and then the clock, over one connection. The
// commands are not built as reads, which a client may send to replicas.
func (s *Store) readPlain(ctx context.Context, d *semel.Digest) (semel.Record, error) {
	answers := s.client.DoMulti(ctx,
		s.client.B().Arbitrary("GET").Keys(s.key(d)).Build(),
		s.client.B().Arbitrary("TIME").Build())
	v, err := answers[0].AsBytes()
	if err != nil {
		return semel.Record{}, err
	}
	now, err := s.milliseconds(answers[1])
	if err != nil {
		return semel.Record{}, err
	}
	return read(*d, now, v)
}
