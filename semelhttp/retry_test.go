package semelhttp_test

import (
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/semelhttp"
)

func TestTransportHonoursRetryAfter(t *testing.T) {
	t.Parallel()
	date := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC) // far from the bubble's clock: only Date counts
	tests := []struct {
		name   string
		header []string
		want   time.Duration
	}{
		{"seconds", []string{"Retry-After", "7"}, 7 * time.Second},
		{"zero", []string{"Retry-After", "0"}, 0},
		{"bounded", []string{"Retry-After", "86400"}, 20 * time.Second},
		{"absurd", []string{"Retry-After", "18446744073709551615"}, 20 * time.Second},
		{"date", []string{"Date", date.Format(http.TimeFormat), "Retry-After", date.Add(9 * time.Second).Format(http.TimeFormat)}, 9 * time.Second},
		{"past date", []string{"Date", date.Format(http.TimeFormat), "Retry-After", date.Add(-time.Hour).Format(http.TimeFormat)}, 0},
		{"nonsense", []string{"Retry-After", "soon"}, 0},
		{"negative", []string{"Retry-After", "-5"}, 0},
		{"date without a Date", nil, 5 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				header := tt.header
				if header == nil { // the bubble's clock counts
					header = []string{"Retry-After", time.Now().Add(tt.want).UTC().Format(http.TimeFormat)}
				}
				tr, log := noPause(func(n int, _ *http.Request) (*http.Response, error) {
					if n == 1 {
						return answer(429, "", header...), nil
					}
					return answer(200, ""), nil
				})
				tr.MaxRetryAfter = 20 * time.Second
				sent(t, tr.RoundTrip, post(t, t.Context(), nil))
				if got := log.at[1].Sub(log.at[0]); got != tt.want {
					t.Errorf("paused %v, want %v", got, tt.want)
				}
			})
		})
	}
}

func TestTransportBackoff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := &attemptLog{script: func(int, *http.Request) (*http.Response, error) { return answer(503, ""), nil }}
		tr := &semelhttp.Transport{Base: log, MaxAttempts: 40, Backoff: time.Second, MaxBackoff: 4 * time.Second, MaxElapsed: -1}
		_, err := tr.RoundTrip(post(t, t.Context(), nil)) //nolint:bodyclose // an error has none.
		if !errors.Is(err, semel.ErrUnknown) {
			t.Fatal(err)
		}
		var total time.Duration
		pauses := map[time.Duration]bool{}
		for i := 1; i < len(log.at); i++ {
			pause := log.at[i].Sub(log.at[i-1])
			if bound := min(4*time.Second, time.Second<<min(i-1, 10)); pause > bound {
				t.Errorf("pause %d is %v, longer than %v", i, pause, bound)
			}
			pauses[pause] = true
			total += pause
		}
		if len(log.at) != 40 || len(pauses) < 30 || total < 20*time.Second {
			t.Errorf("%d attempts, %d different pauses, %v in all", len(log.at), len(pauses), total)
		}
	})
}

func TestTransportMaxElapsed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr, log := noPause(func(int, *http.Request) (*http.Response, error) {
			return answer(503, "", "Retry-After", "10"), nil
		})
		tr.MaxElapsed = 25 * time.Second
		_, err := tr.RoundTrip(post(t, t.Context(), nil)) //nolint:bodyclose // an error has none.
		if !errors.Is(err, semel.ErrUnknown) || len(log.at) != 3 {
			t.Errorf("got %v after %d attempts, want 3", err, len(log.at))
		}
	})
}

func TestReplayed(t *testing.T) {
	t.Parallel()
	for want, header := range map[bool][]string{
		true:  {"Idempotency-Status", "replayed"},
		false: {"Idempotency-Status", "executed"},
	} {
		if got := semelhttp.Replayed(answer(200, "", header...)); got != want { //nolint:bodyclose // it has none.
			t.Errorf("%v: got %v", header, got)
		}
	}
}
