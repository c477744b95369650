package wire_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/semel-dev/semel/check/wire"
)

// TestFaultsOverHTTP2: a service that speaks HTTP/2 only gets as much of a request as each fault sends, once.
func TestFaultsOverHTTP2(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		manner wire.Manner
		got    string // of the body; "-" if the service gets no request
		whole  bool   // it ends
		answer bool
	}{
		"none":        {wire.Manner{}, "half-half", true, true},
		"slowly":      {wire.Manner{Pieces: 3, Pause: time.Millisecond}, "half-half", true, true},
		"no length":   {wire.Manner{Chunked: true}, "half-half", true, true},
		"head":        {wire.Manner{Fault: wire.CutInHead}, "-", false, false},
		"body":        {wire.Manner{Fault: wire.CutInBody}, "half", false, false},
		"hang up":     {wire.Manner{Fault: wire.HangUp}, "half-half", true, false},
		"cut answer":  {wire.Manner{Fault: wire.CutInAnswer}, "half-half", true, true},
		"lost answer": {wire.Manner{Fault: wire.LoseAnswer}, "half-half", true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			type arrival struct {
				body string
				err  error
			}
			came := make(chan arrival, 9)
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				came <- arrival{string(body), err}
				_, _ = io.WriteString(w, "thanks")
			}))
			server.Config.Protocols = new(http.Protocols)
			server.Config.Protocols.SetUnencryptedHTTP2(true)
			server.Start()
			client := &wire.Client{HTTP2: true, Timeout: 10 * time.Second}
			answer, err := client.Do(t.Context(), post(parse(t, server.URL), "half-half"), &one.manner)
			if lost := one.manner.Fault != wire.None; errors.Is(err, wire.ErrLost) != lost || (err != nil) != lost || (answer != nil) != one.answer {
				t.Errorf("got %v and %v", answer, err)
			}
			if one.got != "-" {
				if got := <-came; got.body != one.got || (got.err == nil) != one.whole {
					t.Errorf("the service got %+v, want %q", got, one.got)
				}
			}
			server.Close()
			if len(came) > 0 {
				t.Errorf("the service got %+v as well", <-came)
			}
		})
	}
}
