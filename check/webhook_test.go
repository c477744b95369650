package check_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/internal/webhooksig"
)

func hookConfig(app *receiver, url string) check.Config {
	return check.Config{
		Template: check.Template{Method: "POST", URL: url + "/hooks", Body: []byte(`{"type":"paid","n":{{n}}}`)},
		Secret:   app.secret, Observed: app, Counters: []check.Counter{app}, Only: []string{"BASIC-01", "BASIC-02", "HOOK"},
	}
}

// TestSignWebhook uses the example of the specification's own libraries.
func TestSignWebhook(t *testing.T) {
	t.Parallel()
	secret, err := webhooksig.DecodeSecret(" whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n")
	if err != nil {
		t.Fatal(err)
	}
	bare, err := webhooksig.DecodeSecret("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if diff := cmp.Diff(bare, secret); err != nil || diff != "" {
		t.Errorf("without its prefix: %v (-got +want):\n%s", err, diff)
	}
	got := webhooksig.Sign(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	if diff := cmp.Diff(got, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="); diff != "" {
		t.Errorf("signature (-got +want):\n%s", diff)
	}
	for _, text := range []string{"", "whsec_", "whsec_???", "sesame and not base64"} {
		if _, err := webhooksig.DecodeSecret(text); err == nil || text != "" && strings.Contains(err.Error(), text) && text != "whsec_" {
			t.Errorf("%q: got %v", text, err)
		}
	}
}

// TestHooksOfOtherNames: an older sender writes svix-id.
func TestHooksOfOtherNames(t *testing.T) {
	t.Parallel()
	app := newReceiver("")
	app.prefix = "Svix-"
	c := hookConfig(app, serve(t, app.verified(app)))
	c.Key = check.KeyPlace{In: "header", Name: "svix-id"}
	wantFaults(t, runProfile(t, "webhook", c))
}

// TestHooksWithoutSecret: without a secret nothing is signed, and checks of signatures are skipped.
func TestHooksWithoutSecret(t *testing.T) {
	t.Parallel()
	app := newReceiver("")
	c := hookConfig(app, serve(t, app))
	c.Secret, c.Observed = nil, nil
	report := runProfile(t, "webhook", c)
	wantFaults(t, report)
	got := verdicts(report)
	for id, want := range map[string]check.Verdict{
		"HOOK-01": check.Pass, "HOOK-02": check.Skipped, "HOOK-03": check.Skipped, "HOOK-04": check.Skipped,
		"HOOK-05": check.Pass, "HOOK-06": check.Skipped, "HOOK-07": check.Pass,
	} {
		if got[id] != want {
			t.Errorf("%s: got %s, want %s", id, got[id], want)
		}
	}
	for i := range report.Results {
		for _, sent := range report.Results[i].Exchanges {
			if sent.Request.Has("webhook-signature") || !sent.Request.Has("webhook-timestamp") {
				t.Errorf("sent: %v", sent.Request.Header)
			}
		}
	}
}

// TestHookThatFails: a request that fails once is processed when it is sent again; one that always fails is incomplete.
func TestHookThatFails(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		payload string
		mistake mistake
		want    []string
	}{
		"once":       {"fails once", "", nil},
		"and lost":   {"fails once", marksFirst, []string{"HOOK-06"}},
		"always":     {"fails always", "", []string{"HOOK-06 incomplete: the failing request fails each time: 500 Internal Server Error"}},
		"not at all": {"fails not", "", []string{"HOOK-06 incomplete: the delivery was answered 204 No Content: the failure may not have reached it"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := newReceiver(tt.mistake)
			c := hookConfig(app, serve(t, app.verified(app)))
			c.Observed, c.Only = nil, []string{"HOOK-06"}
			c.Failing = &check.Template{Method: "POST", URL: c.Template.URL, Body: []byte(`{"what":"` + tt.payload + `","n":{{n}}}`)}
			wantFaults(t, runProfile(t, "webhook", c), tt.want...)
		})
	}
}

// TestHookWhoseFailureIsAccepted: a receiver that answers 2xx although its work failed loses the message, unless it
// retries on its own.
func TestHookWhoseFailureIsAccepted(t *testing.T) {
	t.Parallel()
	for tries, want := range map[int][]string{1: {"HOOK-06"}, 2: nil} {
		app := newReceiver("")
		c := hookConfig(app, serve(t, app.verified(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusAccepted)
			for range tries {
				if app.process(r.Header.Get("Webhook-Id"), "") == nil {
					return
				}
			}
		}))))
		c.Only = []string{"HOOK-06"}
		wantFaults(t, runProfile(t, "webhook", c), want...)
	}
}

// TestDeliveriesHaveOneID: a receiver that reads the first line of the header, as the specification's own libraries do,
// is not sent two.
func TestDeliveriesHaveOneID(t *testing.T) {
	t.Parallel()
	app := newReceiver("")
	c := hookConfig(app, "http://127.0.0.1:1")
	c.Profile, _ = check.ProfileNamed("webhook")
	c.Only = nil
	plan, err := check.NewPlan(c)
	if err != nil {
		t.Fatal(err)
	}
	for i := range plan.Checks {
		if plan.Checks[i].ID == "KEY-04" {
			t.Error("KEY-04 is planned")
		}
	}
}
