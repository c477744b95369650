package semelhttp_test

import (
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/internal/testserver/cutanswers"
	"github.com/semel-dev/semel/semelhttp"
)

// Promise 2 needs a client that keeps its key until an answer has come whole: one that breaks off counts as lost, wherever it breaks off.
func TestTransportJudgesWholeAnswers(t *testing.T) {
	t.Parallel()
	vectors := must.Get(cutanswers.Read("../testdata/vectors/answers.json"))
	if len(vectors) < 70 {
		t.Fatalf("answers.json has %d cases only", len(vectors))
	}
	server := must.Get(cutanswers.Start(t.Context(), vectors))
	t.Cleanup(func() { server.Close() })
	for i := range vectors {
		v := &vectors[i]
		t.Run(v.Case, func(t *testing.T) {
			t.Parallel()
			base := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}
			t.Cleanup(base.CloseIdleConnections)
			client := &http.Client{Transport: &semelhttp.Transport{Base: base, Backoff: -1}}
			post := func(key string) (int, []byte, error) {
				ctx := t.Context()
				if key != "" {
					ctx = semelhttp.WithIntent(ctx, key)
				}
				req := must.Get(http.NewRequestWithContext(ctx, http.MethodPost, server.URL("go", v), strings.NewReader("{}")))
				resp := sent(t, client.Do, req)
				body, err := io.ReadAll(resp.Body)
				return resp.StatusCode, body, err
			}
			status, body, err := post("")
			wantStatus, wantBody, attempts := http.StatusCreated, "again", 2
			switch v.Verdict {
			case "answer":
				wantStatus, wantBody, attempts = v.Status, strings.Repeat(v.Text, max(1, v.Times)), 1
			case "rest":
				unknown, ok := errors.AsType[*semelhttp.UnknownError](err)
				if !ok || !errors.Is(err, semel.ErrUnknown) || status != v.Status {
					t.Fatalf("got %d with %d bytes, %v; want %d and an UnknownError", status, len(body), err, v.Status)
				}
				status, body, err = post(unknown.Key)
			}
			if err != nil || status != wantStatus || string(body) != wantBody {
				t.Errorf("got %d with %d bytes, %v; want %d with %d", status, len(body), err, wantStatus, len(wantBody))
			}
			keys := server.Keys("go", v)
			if len(keys) != attempts || keys[0] == "" || keys[0] != keys[len(keys)-1] {
				t.Errorf("the attempts carried %q, want %d with one key", keys, attempts)
			}
		})
	}
}
