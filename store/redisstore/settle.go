package redisstore

import (
	"context"
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/redis/rueidis"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/internal/verb"
)

// maxOutcomeBytes keeps a record within the 512 MiB that Redis stores in one
// string, and the server from copying more than it should in one step.
const maxOutcomeBytes = 64 << 20

// Settle implements [semel.Store].
func (s *Store) Settle(ctx context.Context, d semel.Digest, f semel.Fence, v semel.Settlement) error {
	if err := verb.Settlement("redisstore", &v, maxOutcomeBytes, ""); err != nil {
		return err
	}
	if err := s.enter(ctx, "settle", verb.Writes); err != nil {
		return err
	}
	sc := s.scripts.settle
	if len(v.Outcome) == 0 {
		sc = s.scripts.settleBare
	}
	key, args := s.settleArgs(&d, f, &v)
	answer, err := s.runScript(ctx, sc, []string{key}, args[:]).AsInt64()
	if err := s.verdict("settle", answer, err); err != nil {
		return err
	}
	s.finished.met(&d, v.State)
	return nil
}

// settleArgs are the key and the arguments of settle.lua.
func (s *Store) settleArgs(d *semel.Digest, f semel.Fence, v *semel.Settlement) (key string, args [5]string) {
	b := make([]byte, 0, 192+len(v.Note)+len(v.Outcome)+len(s.opts.Prefix))
	b = s.appendKey(b, d)
	fence := len(b)
	b = binary.BigEndian.AppendUint64(b, uint64(f))
	retention := len(b)
	b = strconv.AppendInt(b, v.Retention.Milliseconds(), 10)
	ttl := len(b)
	b = strconv.AppendInt(b, v.Retention.Milliseconds()+s.slack.Milliseconds(), 10)
	ending := len(b)
	b = appendOutcome(b, v)
	all := rueidis.BinaryString(b)
	return all[:fence], [5]string{all[fence:retention], letters(v), all[retention:ttl], all[ending:], all[ttl:ending]}
}

// What the scripts answer.
const (
	answerDone    = 0
	answerLost    = 1
	answerSettled = 2
)

// verdict turns the answer of a script into that of the verb.
func (s *Store) verdict(act string, answer int64, err error) error {
	switch {
	case err != nil:
		return s.translate(act, err)
	case answer == answerDone:
		return nil
	case answer == answerLost:
		return semel.ErrLost
	case answer == answerSettled:
		return semel.ErrSettled
	}
	return fmt.Errorf("redisstore: %s: the server answered %d, want 0 to 2", act, answer)
}

func fenceBytes(f semel.Fence) string {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(f))
	return string(b[:])
}
