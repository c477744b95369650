package semelhttp_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/semelhttp"
)

// attemptLog is a base that answers from a script and remembers what was sent.
type attemptLog struct {
	script func(n int, req *http.Request) (*http.Response, error) // n counts from 1

	mu     sync.Mutex // guards the fields below
	keys   []string
	bodies []string
	at     []time.Time
	closed []bool // of the answers' bodies
}

func (l *attemptLog) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		var err error
		if body, err = io.ReadAll(req.Body); err != nil {
			return nil, err
		}
		req.Body.Close()
	}
	l.mu.Lock()
	l.keys = append(l.keys, sentKey(req))
	l.bodies = append(l.bodies, string(body))
	l.at = append(l.at, time.Now())
	n := len(l.keys)
	l.closed = append(l.closed, false)
	l.mu.Unlock()
	resp, err := l.script(n, req)
	if resp != nil {
		resp.Request = req
		resp.Body = closeHook{resp.Body, func() {
			l.mu.Lock()
			l.closed[n-1] = true
			l.mu.Unlock()
		}}
	}
	return resp, err
}

type closeHook struct {
	io.ReadCloser
	hook func()
}

func (c closeHook) Close() error {
	c.hook()
	return c.ReadCloser.Close()
}

// sentKey returns what goes out under the name that net/http does not look for.
func sentKey(req *http.Request) string {
	return strings.Join(req.Header[strings.ToLower("Idempotency-Key")], "|")
}

// answer builds a response; header holds names and values in turn.
func answer(status int, body string, header ...string) *http.Response {
	rec := httptest.NewRecorder()
	for i := 0; i+1 < len(header); i += 2 {
		rec.Header().Set(header[i], header[i+1])
	}
	rec.WriteHeader(status)
	rec.Body.WriteString(body)
	return rec.Result()
}

func problem(status int, name string, header ...string) *http.Response {
	return answer(status, `{"type":"urn:semel:problem:`+name+`"}`, append(header, "Content-Type", "application/problem+json")...)
}

func post(t *testing.T, ctx context.Context, body io.Reader) *http.Request { //nolint:revive // t comes first in helpers.
	t.Helper()
	return must.Get(http.NewRequestWithContext(ctx, http.MethodPost, "http://shop.test/orders", body))
}

// noPause is a transport over the script that repeats at once.
func noPause(script func(n int, req *http.Request) (*http.Response, error)) (*semelhttp.Transport, *attemptLog) {
	log := &attemptLog{script: script}
	return &semelhttp.Transport{Base: log, Backoff: -1}, log
}

// sent returns the definitive answer to a request.
func sent(t *testing.T, send func(*http.Request) (*http.Response, error), req *http.Request) *http.Response {
	t.Helper()
	resp, err := send(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

func TestTransportRepeatsUntilDefinitive(t *testing.T) {
	t.Parallel()
	lost := errors.New("connection reset")
	tests := []struct {
		name     string
		first    func() (*http.Response, error)
		attempts int
	}{
		{"200", func() (*http.Response, error) { return answer(200, ""), nil }, 1},
		{"303", func() (*http.Response, error) { return answer(303, ""), nil }, 1},
		{"400", func() (*http.Response, error) { return problem(400, "key-invalid"), nil }, 1},
		{"404", func() (*http.Response, error) { return answer(404, ""), nil }, 1},
		{"422", func() (*http.Response, error) { return problem(422, "key-reused"), nil }, 1},
		{"409 of the application", func() (*http.Response, error) { return answer(409, "taken"), nil }, 1},
		{"409 outcome-unknown", func() (*http.Response, error) { return problem(409, "outcome-unknown"), nil }, 1},
		{"409 in another type's clothes", func() (*http.Response, error) {
			return answer(409, `{"type":"urn:semel:problem:in-flight"}`, "Content-Type", "application/json"), nil
		}, 1},
		{"500 replayed", func() (*http.Response, error) { return answer(500, "", "Idempotent-Replayed", "true"), nil }, 1},
		{"409 outcome-unknown, looked up by the next attempt", func() (*http.Response, error) {
			return answer(409, `{"type":"urn:semel:problem:outcome-unknown","retryable":true}`, "Content-Type", "application/problem+json"), nil
		}, 2},
		{"502 outcome-unknown", func() (*http.Response, error) { return problem(502, "outcome-unknown"), nil }, 1},
		{"504 outcome-unknown, looked up by the next attempt", func() (*http.Response, error) {
			return answer(504, `{"type":"urn:semel:problem:outcome-unknown","retryable":true}`, "Content-Type", "application/problem+json"), nil
		}, 2},
		{"409 in-flight", func() (*http.Response, error) { return problem(409, "in-flight"), nil }, 2},
		{"409 cut short", func() (*http.Response, error) {
			resp := problem(409, "outcome-unknown")
			resp.Body = io.NopCloser(io.MultiReader(strings.NewReader(`{"ty`), iotest.ErrReader(lost)))
			return resp, nil
		}, 2},
		{"408", func() (*http.Response, error) { return answer(408, ""), nil }, 2},
		{"425", func() (*http.Response, error) { return answer(425, ""), nil }, 2},
		{"429", func() (*http.Response, error) { return answer(429, ""), nil }, 2},
		{"500", func() (*http.Response, error) { return answer(500, ""), nil }, 2},
		{"502", func() (*http.Response, error) { return answer(502, ""), nil }, 2},
		{"503", func() (*http.Response, error) { return problem(503, "store-unavailable"), nil }, 2},
		{"504", func() (*http.Response, error) { return answer(504, ""), nil }, 2},
		{"lost", func() (*http.Response, error) { return nil, lost }, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tr, log := noPause(func(n int, _ *http.Request) (*http.Response, error) {
				if n == 1 {
					return tt.first()
				}
				return answer(201, "done"), nil
			})
			sent(t, tr.RoundTrip, post(t, t.Context(), strings.NewReader("x")))
			if len(log.keys) != tt.attempts {
				t.Fatalf("got %d attempts, want %d", len(log.keys), tt.attempts)
			}
			if tt.attempts == 2 {
				if log.keys[0] != log.keys[1] || log.keys[0] == "" {
					t.Errorf("the attempts carried %q", log.keys)
				}
				if diff := cmp.Diff([]string{"x", "x"}, log.bodies); diff != "" {
					t.Errorf("bodies: -want +got\n%s", diff)
				}
				if tt.name != "lost" && !log.closed[0] {
					t.Error("the discarded answer's body was not closed")
				}
			}
			if log.closed[tt.attempts-1] {
				t.Error("the definitive answer's body was closed")
			}
		})
	}
}

// A definitive answer is readable from its start even after it was peeked at.
func TestTransportReturnsTheWholeAnswer(t *testing.T) {
	t.Parallel()
	long := `{"type":"urn:semel:problem:outcome-unknown","detail":"` + strings.Repeat("x", 200<<10) + `"}`
	tr, _ := noPause(func(int, *http.Request) (*http.Response, error) {
		return answer(409, long, "Content-Type", "application/problem+json"), nil
	})
	resp := sent(t, tr.RoundTrip, post(t, t.Context(), nil))
	got, err := io.ReadAll(resp.Body)
	if err != nil || string(got) != long {
		t.Errorf("got %d bytes, %v, want %d", len(got), err, len(long))
	}
}

func TestTransportKey(t *testing.T) {
	t.Parallel()
	// send returns the request that the response names.
	send := func(t *testing.T, tr *semelhttp.Transport, req *http.Request) (*http.Request, error) {
		t.Helper()
		resp, err := tr.RoundTrip(req)
		if err != nil {
			return nil, err
		}
		resp.Body.Close()
		return resp.Request, nil
	}
	ok := func(int, *http.Request) (*http.Response, error) { return answer(200, ""), nil }
	t.Run("minted per round trip", func(t *testing.T) {
		t.Parallel()
		tr, log := noPause(ok)
		for range 2 {
			if _, err := send(t, tr, post(t, t.Context(), nil)); err != nil {
				t.Fatal(err)
			}
		}
		for _, k := range log.keys {
			if len(k) != 38 || k[15] != '4' || !strings.Contains("89ab", k[20:21]) {
				t.Errorf("%s is not a quoted UUIDv4", k)
			}
		}
		if log.keys[0] == log.keys[1] {
			t.Error("two round trips without an intent shared a key")
		}
	})
	t.Run("from the intent", func(t *testing.T) {
		t.Parallel()
		tr, log := noPause(ok)
		ctx := semelhttp.NewIntent(t.Context())
		for range 2 {
			sent, err := send(t, tr, post(t, ctx, nil))
			if err != nil {
				t.Fatal(err)
			}
			want, _ := semelhttp.IntentFrom(ctx)
			if got, _ := semelhttp.IntentFrom(sent.Context()); got != want {
				t.Errorf("the response's request has intent %q, want %q", got, want)
			}
		}
		if log.keys[0] != log.keys[1] {
			t.Errorf("one intent was sent as %q", log.keys)
		}
	})
	t.Run("quoted", func(t *testing.T) {
		t.Parallel()
		tr, log := noPause(ok)
		if _, err := send(t, tr, post(t, semelhttp.WithIntent(t.Context(), `a"b\c, d`), nil)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{`"a\"b\\c, d"`}, log.keys); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	})
	t.Run("of the request", func(t *testing.T) {
		t.Parallel()
		tr, log := noPause(ok)
		req := post(t, semelhttp.NewIntent(t.Context()), nil)
		req.Header.Set("Idempotency-Key", "mine")
		before := req.Header.Clone()
		sent, err := send(t, tr, req)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"mine"}, log.keys); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
		if diff := cmp.Diff(before, req.Header); diff != "" {
			t.Errorf("the caller's header changed: -want +got\n%s", diff)
		}
		if diff := cmp.Diff(before, sent.Header); diff != "" {
			t.Errorf("the response's request is not the caller's: -want +got\n%s", diff)
		}
	})
	for name, key := range map[string]string{"empty": "", "long": strings.Repeat("x", 256), "control": "a\nb", "not ASCII": "clé"} {
		t.Run("refused: "+name, func(t *testing.T) {
			t.Parallel()
			tr, log := noPause(ok)
			body := &closeCounter{Reader: strings.NewReader("x")}
			req := post(t, semelhttp.WithIntent(t.Context(), key), body)
			_, err := send(t, tr, req)
			if !errors.Is(err, semel.ErrKeyInvalid) || errors.Is(err, semel.ErrUnknown) {
				t.Errorf("got %v, want %v", err, semel.ErrKeyInvalid)
			}
			if len(log.keys) != 0 || body.closed.Load() != 1 {
				t.Errorf("%d attempts, body closed %d times; want none and once", len(log.keys), body.closed.Load())
			}
		})
	}
}

func TestTransportLeavesOtherMethodsAlone(t *testing.T) {
	t.Parallel()
	tr, log := noPause(func(_ int, req *http.Request) (*http.Response, error) {
		if len(req.Header) != 0 {
			t.Errorf("%s was sent with %v", req.Method, req.Header)
		}
		return answer(503, ""), nil
	})
	for _, method := range []string{"", http.MethodGet, http.MethodPut, http.MethodDelete} {
		req := post(t, t.Context(), nil)
		req.Method = method
		resp, err := tr.RoundTrip(req)
		if err != nil || resp.StatusCode != http.StatusServiceUnavailable {
			t.Fatalf("%q: %v, %v", method, resp, err)
		}
		resp.Body.Close()
	}
	tr.Methods = []string{http.MethodPut}
	tr.MaxAttempts = 3
	req := post(t, t.Context(), nil)
	req.Method = http.MethodPut
	log.script = func(int, *http.Request) (*http.Response, error) { return answer(503, ""), nil }
	if _, err := tr.RoundTrip(req); !errors.Is(err, semel.ErrUnknown) { //nolint:bodyclose // an error has none.
		t.Errorf("PUT, when configured: got %v, want %v", err, semel.ErrUnknown)
	}
	if len(log.keys) != 4+3 {
		t.Errorf("got %d attempts, want 4 and 3", len(log.keys))
	}
}

func TestTransportReportsUnknown(t *testing.T) {
	t.Parallel()
	tr, log := noPause(func(int, *http.Request) (*http.Response, error) {
		return problem(503, "store-unavailable", "Retry-After", "0"), nil
	})
	tr.MaxAttempts = 3
	_, err := tr.RoundTrip(post(t, semelhttp.WithIntent(t.Context(), "k1"), nil)) //nolint:bodyclose // an error has none.
	unknown, ok := errors.AsType[*semelhttp.UnknownError](err)
	if !ok || !errors.Is(err, semel.ErrUnknown) {
		t.Fatalf("got %v, want an UnknownError", err)
	}
	if unknown.Key != "k1" || unknown.Attempts != 3 || len(log.keys) != 3 {
		t.Errorf("got %+v after %d attempts", unknown, len(log.keys))
	}
	if strings.Contains(err.Error(), "k1") {
		t.Errorf("the error shows the key: %v", err)
	}
	want := semelhttp.AnswerError{Status: 503, Problem: "urn:semel:problem:store-unavailable"}
	if got, _ := errors.AsType[*semelhttp.AnswerError](err); got == nil || *got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// A base that does not speak httptrace is believed when it could not dial.
func TestTransportBelievesDialErrors(t *testing.T) {
	t.Parallel()
	for op, unknown := range map[string]bool{"dial": false, "read": true} {
		tr, _ := noPause(func(int, *http.Request) (*http.Response, error) {
			return nil, &net.OpError{Op: op, Err: io.ErrClosedPipe}
		})
		_, err := tr.RoundTrip(post(t, t.Context(), nil)) //nolint:bodyclose // an error has none.
		if !errors.Is(err, io.ErrClosedPipe) || errors.Is(err, semel.ErrUnknown) != unknown {
			t.Errorf("%s: got %v", op, err)
		}
	}
}

func TestTransportContextEnds(t *testing.T) {
	t.Parallel()
	t.Run("before", func(t *testing.T) {
		t.Parallel()
		tr, log := noPause(nil)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		body := &closeCounter{Reader: strings.NewReader("x")}
		_, err := tr.RoundTrip(post(t, ctx, body)) //nolint:bodyclose // an error has none.
		if !errors.Is(err, context.Canceled) || errors.Is(err, semel.ErrUnknown) || len(log.keys) != 0 || body.closed.Load() != 1 {
			t.Errorf("got %v after %d attempts", err, len(log.keys))
		}
	})
	t.Run("during an attempt", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		tr, log := noPause(func(_ int, req *http.Request) (*http.Response, error) {
			cancel()
			<-req.Context().Done()
			return nil, req.Context().Err()
		})
		_, err := tr.RoundTrip(post(t, ctx, nil)) //nolint:bodyclose // an error has none.
		if !errors.Is(err, context.Canceled) || !errors.Is(err, semel.ErrUnknown) || len(log.keys) != 1 {
			t.Errorf("got %v after %d attempts", err, len(log.keys))
		}
	})
	t.Run("while pausing", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			tr, log := noPause(func(int, *http.Request) (*http.Response, error) {
				time.AfterFunc(time.Second, cancel)
				return answer(503, "", "Retry-After", "10"), nil
			})
			_, err := tr.RoundTrip(post(t, ctx, nil)) //nolint:bodyclose // an error has none.
			answered, ok := errors.AsType[*semelhttp.AnswerError](err)
			if !errors.Is(err, context.Canceled) || !errors.Is(err, semel.ErrUnknown) || !ok || answered.Status != 503 {
				t.Errorf("got %v", err)
			}
			if got := time.Since(log.at[0]); got != time.Second {
				t.Errorf("returned %v after the first attempt, want 1s", got)
			}
		})
	})
	t.Run("deadline before the next", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			tr, log := noPause(func(int, *http.Request) (*http.Response, error) {
				return answer(503, "", "Retry-After", "10"), nil
			})
			_, err := tr.RoundTrip(post(t, ctx, nil)) //nolint:bodyclose // an error has none.
			if !errors.Is(err, semel.ErrUnknown) || len(log.at) != 1 || time.Since(log.at[0]) != 0 {
				t.Errorf("got %v after %d attempts and %v", err, len(log.at), time.Since(log.at[0]))
			}
		})
	})
}

func TestTransportConcurrently(t *testing.T) {
	t.Parallel()
	tr, log := noPause(func(n int, _ *http.Request) (*http.Response, error) {
		if n%3 == 0 {
			return answer(503, ""), nil
		}
		return answer(200, ""), nil
	})
	tr.MaxAttempts = 200
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			want := fmt.Sprint("k", i)
			resp, err := tr.RoundTrip(post(t, semelhttp.WithIntent(t.Context(), want), bytes.NewReader([]byte(want))))
			if err != nil {
				t.Error(err)
				return
			}
			resp.Body.Close()
		})
	}
	wg.Wait()
	for i, key := range log.keys {
		if want := `"` + log.bodies[i] + `"`; key != want {
			t.Errorf("attempt %d carried %s with the body of %s", i, key, want)
		}
	}
}
