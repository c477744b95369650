package redisstore_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/redisstore"
)

// One step's answer, or error, reaches no other step.
func TestBatchAnswers(t *testing.T) {
	t.Parallel()
	for name, p := range places() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := newHands()
			s := open(t, p.dsn(t), redisstore.WithClock(redisstore.Options{}, clock.ms.Load))
			look := p.raw(t)
			done := claim(t, s, params("done"))
			settle(t, s, done, completed("answer"))
			old := claim(t, s, params("lapsed"))
			clock.Advance(lease)
			live := claim(t, s, params("live"))
			spoilt := params("spoilt")
			if err := look.do("RPUSH", redisstore.Key(s, spoilt.Digest), "x").Error(); err != nil {
				t.Fatal(err)
			}
			invalid := params("invalid")
			invalid.Lease = 0
			takeover := by(2, params("lapsed"))
			takeover.TakeOver = old.Fence

			answers, err := s.ClaimBatch(t.Context(), []semel.ClaimParams{
				by(2, params("done")), by(2, params("live")), invalid, params("new"), spoilt, takeover, params("live again"),
			})
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range []struct {
				won bool
				err string
			}{{}, {}, {err: "lease"}, {won: true}, {err: "choose another"}, {won: true}, {won: true}} {
				got := answers[i]
				if got.Won != want.won || (got.Err != nil) != (want.err != "") || got.Err != nil && !strings.Contains(got.Err.Error(), want.err) {
					t.Errorf("claim %d: got won %v, error %v, want %+v", i, got.Won, got.Err, want)
				}
			}
			taken := answers[5].Record
			if string(answers[0].Record.Outcome) != "answer" || answers[1].Record.Fence != live.Fence || taken.Attempt != 2 ||
				taken.Fence <= live.Fence || taken.Fence == answers[3].Record.Fence {
				t.Errorf("got %+v", answers)
			}

			errs, err := s.SettleBatch(t.Context(), []semel.SettleParams{
				{Digest: live.Digest, Fence: live.Fence, Settlement: completed("x")},
				{Digest: done.Digest, Fence: done.Fence, Settlement: completed("y")},
				{Digest: old.Digest, Fence: old.Fence, Settlement: completed("z")},
				{Digest: spoilt.Digest, Fence: 1, Settlement: completed("z")},
				{Digest: live.Digest, Fence: live.Fence, Settlement: semel.Settlement{State: 77}},
				{Digest: taken.Digest, Fence: taken.Fence, Settlement: semel.Settlement{State: semel.StateReleased}},
				{Digest: params("absent").Digest, Fence: 1, Settlement: semel.Settlement{State: semel.StateReleased}},
			})
			if err != nil {
				t.Fatal(err)
			}
			if errs[0] != nil || !errors.Is(errs[1], semel.ErrSettled) || !errors.Is(errs[2], semel.ErrLost) ||
				errs[3] == nil || !strings.Contains(errs[3].Error(), "choose another") || errs[4] == nil || errs[5] != nil || errs[6] != nil {
				t.Errorf("got %v", errs)
			}
			if _, err := s.Lookup(t.Context(), taken.Digest); !errors.Is(err, semel.ErrNotFound) {
				t.Errorf("got %v, want the released claim absent", err)
			}
		})
	}
}

// Batches of nothing, of one, and of what is refused before it is sent.
func TestSmallBatches(t *testing.T) {
	t.Parallel()
	s := open(t, single.dsn(t), nil)
	invalid := params("invalid")
	invalid.Retention = 0
	for n, batch := range [][]semel.ClaimParams{{}, {params("a")}, {invalid, params("b")}, {invalid, invalid}} {
		answers, err := s.ClaimBatch(t.Context(), batch)
		if err != nil || len(answers) != len(batch) {
			t.Fatalf("batch %d: got %d answers, error %v", n, len(answers), err)
		}
		for i, a := range answers {
			if valid := batch[i].Retention != 0; a.Won != valid || (a.Err == nil) != valid {
				t.Errorf("batch %d, step %d: won %v, error %v", n, i, a.Won, a.Err)
			}
		}
	}
	if errs, err := s.SettleBatch(t.Context(), nil); err != nil || len(errs) != 0 {
		t.Errorf("got %v, error %v", errs, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.ClaimBatch(t.Context(), nil); !errors.Is(err, semel.ErrClosed) {
		t.Errorf("got %v, want %v", err, semel.ErrClosed)
	}
	if _, err := s.SettleBatch(t.Context(), nil); !errors.Is(err, semel.ErrClosed) {
		t.Errorf("got %v, want %v", err, semel.ErrClosed)
	}
}

// An outcome that no string of the server should hold is refused as too large.
func TestOutcomeTooLarge(t *testing.T) {
	t.Parallel()
	s := open(t, single.dsn(t), nil)
	rec := claim(t, s, params("k"))
	to := semel.Settlement{State: semel.StateCompleted, Outcome: make([]byte, 64<<20+1), Kept: true, Retention: time.Hour}
	if err := s.Settle(t.Context(), rec.Digest, rec.Fence, to); !errors.Is(err, semel.ErrFull) {
		t.Errorf("got %v, want %v", err, semel.ErrFull)
	}
	settle(t, s, rec, completed("smaller"))
}
