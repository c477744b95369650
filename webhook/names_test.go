package webhook_test

import (
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/webhook"
)

// TestNames proves docs/names.md.
func TestNames(t *testing.T) {
	t.Parallel()
	second := func(endpoint, path, id, text string) claimtest.Proof {
		return func(t *testing.T) (int, int) {
			t.Helper()
			r := receive(t, webhook.VerifierOptions{Secrets: []string{whsec}}, nil)
			answers := []receiverAnswer{r.deliver(t, http.MethodPost, "/", body, standard())}
			if endpoint != "payments" { // another one of the same store
				next := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
					r.ran.Add(1)
					_, _ = io.Copy(io.Discard, req.Body)
					_, _ = fmt.Fprint(w, "fine")
				})
				v := must.Get(webhook.NewVerifier(&webhook.VerifierOptions{Secrets: []string{whsec}, Now: func() time.Time { return time.Unix(signedAt, 0) }}))
				r.serve(t, must.Get(v.Handler(r.guard, endpoint, next, nil)))
			}
			answers = append(answers, r.deliver(t, http.MethodPost, path, text, signed(id, signedAt, text)))
			refused := 0
			for _, a := range answers {
				switch {
				case a.problem == "key-reused":
					refused++
				case a.status != http.StatusOK:
					t.Errorf("got %+v", a)
				}
			}
			return int(r.ran.Load()), refused
		}
	}
	claimtest.Names(t, "webhooks", map[string]claimtest.Proof{
		"endpoint":        second("shipments", "/", exampleID, body),
		"id":              second("payments", "/", exampleID+"2", body),
		"delivered again": second("payments", "/", exampleID, body),
		"path":            second("payments", "/elsewhere?a=1", exampleID, body),
		"body":            second("payments", "/", exampleID, "{}"),
	})
}
