package natsstore

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/internal/verb"
)

// What JetStream answers (err_code).
const (
	codeNoMessage     = 10037
	codeWrongSequence = 10071
	codeWrongLast     = 10164 // the same, in a batch
)

// found holds what a verb decides on: the last message of an intent, and a time of the
// server's clock at which the record was as it says.
type found struct {
	rec      *semel.Record // nil without a message
	sequence uint64        // of the message; 0 for none
	now      int64
	// remembered: it was not read now, and may have been replaced.
	remembered bool
}

// read looks at an intent. The clock and the record are asked for at once; where the
// time decides, the record is read again after it, so that a renewal or a settlement
// between the two does not go unnoticed.
func (s *Store) read(ctx context.Context, d semel.Digest) (f found, err error) {
	reading := s.clock.join()
	if f.rec, f.sequence, err = s.last(ctx, d); err != nil {
		return f, err
	}
	if f.now, err = reading.wait(ctx); err != nil {
		return f, err
	}
	f.date()
	if f.rec != nil && (verb.Absent(f.rec) || f.rec.Lapsed()) {
		if f.rec, f.sequence, err = s.last(ctx, d); err != nil {
			return f, err
		}
		f.date()
	}
	return f, nil
}

// date says when the record was read: not before it was written, which another process
// may have done after this one asked for the time.
func (f *found) date() {
	if f.rec == nil {
		return
	}
	f.rec.ReadAt = verb.Time(f.now)
	for _, written := range []time.Time{f.rec.ClaimedAt, f.rec.SettledAt} {
		if written.After(f.rec.ReadAt) {
			f.rec.ReadAt = written
		}
	}
}

// last reads the last message of an intent from the stream's leader.
func (s *Store) last(ctx context.Context, d semel.Digest) (rec *semel.Record, sequence uint64, err error) {
	var answer struct {
		Error   *apiError `json:"error"`
		Message struct {
			Sequence uint64 `json:"seq"`
			Data     []byte `json:"data"`
		} `json:"message"`
	}
	body := append(strconv.AppendQuote([]byte(`{"last_by_subj":`), s.subject(&d)), '}')
	err = s.link.ask(ctx, "STREAM.MSG.GET."+s.opts.Stream, body, &answer, &answer.Error)
	if refused(err, codeNoMessage) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	read, err := readRecord(d, answer.Message.Sequence, answer.Message.Data)
	if err != nil {
		return nil, 0, err
	}
	return &read, answer.Message.Sequence, nil
}

// write stores the record in the place of what was found. ok is false when another
// message came first.
func (s *Store) write(ctx context.Context, f *found, rec *semel.Record) (sequence uint64, ok bool, err error) {
	w := s.replacing(f, rec)
	sequence, err = s.link.publish(ctx, s.opts.Stream, &w)
	if overtaken(err) {
		return 0, false, nil
	}
	return sequence, err == nil, err
}

// replacing is the message that puts the record in the place of what was found.
func (s *Store) replacing(f *found, rec *semel.Record) write {
	return write{
		subject:  s.subject(&rec.Digest),
		body:     appendRecord(make([]byte, 0, maxHead+len(rec.Outcome)), rec),
		expected: f.sequence,
		ttl:      s.ttl(rec.ExpiresAt.UnixMilli() - f.now),
	}
}

// maxTTL bounds the seconds that a server is asked to count; a record that lives
// longer stays until it is overwritten.
const maxTTL = 100 * 365 * 24 * 60 * 60

// ttl says how long a message lives: a second longer than its record, so that the store
// alone decides when that expires.
func (s *Store) ttl(left int64) string {
	seconds := max(left, 0)/1000 + 2 + int64(s.opts.clock.outlive().Seconds())
	if seconds > maxTTL {
		return "never"
	}
	return fmt.Sprintf("%010d", seconds) // a full stream takes what is not larger than what it replaces
}

func refused(err error, code int) bool {
	e, ok := errors.AsType[*apiError](err)
	return ok && e.ErrCode == code
}

// overtaken reports whether a message was not stored because another came first.
func overtaken(err error) bool { return refused(err, codeWrongSequence) || refused(err, codeWrongLast) }

// subject names the record of an intent.
func (s *Store) subject(d *semel.Digest) string {
	b := make([]byte, 0, len(s.opts.Subject)+1+2*len(d))
	b = append(b, s.opts.Subject...)
	b = append(b, '.')
	return string(hex.AppendEncode(b, d[:]))
}
