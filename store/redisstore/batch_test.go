package redisstore_test

import (
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/redisstore"
)

// A key that another program has is the error of its step alone.
func TestBatchWithAForeignKey(t *testing.T) {
	t.Parallel()
	for name, p := range places() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, p.dsn(t), nil)
			spoilt := params("spoilt")
			noError(t, p.raw(t).do("RPUSH", redisstore.Key(s, spoilt.Digest), "x").Error())
			answers, _, err := s.Batch(t.Context(), []semel.ClaimParams{params("a"), spoilt, params("b")}, nil)
			if err != nil || !answers[0].Won || answers[1].Err == nil || !strings.Contains(answers[1].Err.Error(), "choose another") || !answers[2].Won {
				t.Fatalf("got %+v, error %v, want only the second to fail", answers, err)
			}
			rec := answers[0].Record
			_, errs, err := s.Batch(t.Context(), nil, []semel.SettleParams{
				{Digest: rec.Digest, Fence: rec.Fence, Settlement: completed("x")},
				{Digest: spoilt.Digest, Fence: 1, Settlement: completed("y")},
			})
			if err != nil || errs[0] != nil || errs[1] == nil || !strings.Contains(errs[1].Error(), "choose another") {
				t.Errorf("got %v, error %v, want only the second to fail", errs, err)
			}
		})
	}
}

// An outcome that no string of the server should hold is refused as too large.
func TestOutcomeTooLarge(t *testing.T) {
	t.Parallel()
	s := open(t, single.dsn(t), nil)
	rec := wins(t, s, params("k"))
	to := semel.Settlement{State: semel.StateCompleted, Outcome: make([]byte, 64<<20+1), Kept: true, Retention: time.Hour}
	wantErr(t, "", s.Settle(t.Context(), rec.Digest, rec.Fence, to), semel.ErrFull)
	settles(t, s, rec, completed("smaller"))
}
