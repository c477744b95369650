package gateway

import (
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/verdict"
)

// TestSinceWhenItIsUnknown (promise 3): what is not there yet is believed absent only some time after the attempt was given up,
// not after it began: an application that is slower than the gateway's patience is still at work.
func TestSinceWhenItIsUnknown(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	ended := began.Add(time.Minute)
	given := semel.Record{State: semel.StateUnknown, ClaimedAt: began, SettledAt: ended, Note: "timeout"}
	if got := sinceOf(&given); !got.Equal(ended) {
		t.Errorf("given up after a minute: since %v, want %v", got, ended)
	}
	lapsed := semel.Record{State: semel.StateClaimed, ClaimedAt: began, LeaseUntil: ended}
	if got := sinceOf(&lapsed); !got.Equal(ended) {
		t.Errorf("lapsed after a minute: since %v, want %v", got, ended)
	}
	tried := semel.Record{State: semel.StateUnknown, ClaimedAt: ended.Add(time.Hour), SettledAt: ended.Add(time.Hour), Note: verdict.WithSince("not there yet", ended, semel.MaxNoteBytes)}
	if got := sinceOf(&tried); !got.Equal(ended) {
		t.Errorf("after a reconciliation in vain: since %v, want %v", got, ended)
	}
}
