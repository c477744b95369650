package semelhttp_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/outcomelog"
)

// The outcome log calls a refusal failed where work under the handler failed for good, and created where the handler answered
// with something else nevertheless.
func TestEventOfFinalError(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		work   error
		status int
		want   outcomelog.Outcome
	}{
		"failed":            {semel.MarkFinal(errors.New("the card is declined")), http.StatusPaymentRequired, outcomelog.Failed},
		"paid on delivery":  {semel.MarkFinal(errors.New("the card is declined")), http.StatusCreated, outcomelog.Created},
		"another refusal":   {nil, http.StatusConflict, outcomelog.Rejected},
		"may be tried anew": {semel.MarkReleased(errors.New("busy")), http.StatusConflict, outcomelog.Rejected},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDoor(t, doorOptions{})
			server := d.serve(t, func(w http.ResponseWriter, r *http.Request) {
				_, err := semel.Do(r.Context(), d.guard, semel.Key{Scope: "cards", Name: "1"}, semel.Fingerprint{}, func(context.Context) (int, error) { return 1, tt.work })
				if (err == nil) != (tt.work == nil) {
					t.Error(err)
				}
				w.WriteHeader(tt.status)
			})
			for _, want := range []outcomelog.Outcome{tt.want, outcomelog.Replayed} {
				ask(t, server, "k1", "x")
				d.mu.Lock()
				last := d.decisions[len(d.decisions)-1]
				d.mu.Unlock()
				if got := last.Event().Outcome; got != want {
					t.Errorf("got %q, want %q", got, want)
				}
			}
		})
	}
}
