package redisstore_test

import (
	"errors"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/redisstore"
)

// A claim that is repeated by the process that has met it finished is answered
// as the script would: with the record as it was settled, until that expires.
func TestReplay(t *testing.T) {
	t.Parallel()
	for name, p := range places() {
		for _, state := range []semel.State{semel.StateCompleted, semel.StateCancelled, semel.StateUnknown} {
			t.Run(name+"/"+state.String(), func(t *testing.T) {
				t.Parallel()
				clock := newHands()
				dsn := p.dsn(t)
				o := redisstore.WithClock(redisstore.Options{}, clock.ms.Load)
				s, other := open(t, dsn, o), open(t, dsn, o)
				first := wins(t, s, params("k"))
				settles(t, s, first, semel.Settlement{State: state, Outcome: []byte("answer"), Kept: state == semel.StateCompleted, Retention: time.Minute})
				clock.Advance(time.Minute - time.Millisecond)
				for _, s := range []*redisstore.Store{s, other, other} {
					rec, won, err := s.Claim(t.Context(), by(2, params("k")))
					if err != nil || won || rec.State != state || rec.Fence != first.Fence || string(rec.Outcome) != "answer" ||
						rec.ReadAt.UnixMilli() != clock.ms.Load() {
						t.Errorf("got %+v, won %v, error %v", rec, won, err)
					}
				}
				clock.Advance(time.Millisecond)
				again := wins(t, other, by(2, params("k")))
				if again.Fence <= first.Fence || again.State != semel.StateClaimed {
					t.Errorf("got %+v", again)
				}
				rec, won, err := s.Claim(t.Context(), by(3, params("k")))
				if err != nil || won || rec.State != semel.StateClaimed || rec.Fence != again.Fence {
					t.Errorf("got %+v, won %v, error %v, want the live claim", rec, won, err)
				}
			})
		}
	}
}

// What was finished and then lost, as by FLUSHALL, or spoilt, is as the
// server says.
func TestReplayOfWhatIsGone(t *testing.T) {
	t.Parallel()
	for name, p := range places() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, look := open(t, p.dsn(t), nil), p.raw(t)
			for _, k := range []string{"lost", "spoilt"} {
				settles(t, s, wins(t, s, params(k)), completed("answer"))
				noError(t, look.do("DEL", redisstore.Key(s, params(k).Digest)).Error())
			}
			wins(t, s, params("lost"))
			noError(t, look.do("SET", redisstore.Key(s, params("spoilt").Digest), "short").Error())
			if rec, won, err := s.Claim(t.Context(), params("spoilt")); err == nil || errors.Is(err, semel.ErrNotFound) {
				t.Errorf("got %+v, won %v, want an error", rec, won)
			}
		})
	}
}
