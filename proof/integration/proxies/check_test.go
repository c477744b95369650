package proxies_test

import (
	"testing"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/check/effects"
	"github.com/semel-dev/semel/check/wire"
	"github.com/semel-dev/semel/proof/integration/apps"
)

// TestCheck: all that semel check knows passes through every proxy, in front of the gateway and behind it, whether it holds requests
// and answers until they are complete or not.
func TestCheck(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kind) {
		t.Helper()
		for name, change := range map[string][]string{"buffering": k.buffering, "streaming": k.streaming} {
			for _, pr := range protocols(t) {
				t.Run("front, "+name+", "+pr.name, func(t *testing.T) {
					t.Parallel()
					app := serve(t, newApplication(false), nil)
					checks(t, k.start(t, k.before(t, pr, change...), gateways(t, app, pr.secure)).url, app, k.badHeader && pr.secure != nil)
				})
				t.Run("between, "+name+", "+pr.name, func(t *testing.T) {
					t.Parallel()
					app := newApplication(false)
					p := k.start(t, k.behind(t, pr, change...), twice(t, app, pr.secure))
					checks(t, pr.url(serve(t, newGateway(t, p.url, newStore(t)).Handler(), pr.secure)), serve(t, app, nil), false)
				})
			}
		}
	})
}

// checks runs all checks at a URL, behind a proxy that may answer 502 to a header with a control byte. The application counts at
// its own address (host:port).
func checks(t *testing.T, url, app string, badHeader bool) {
	t.Helper()
	executed, err := effects.JSON(nil, "http://"+app+"/", "/executed", nil)
	must(t, err)
	report := apps.Check(t, "ietf", &check.Config{
		Template: check.Template{
			Method: "POST", URL: url + "/orders",
			Header: []wire.Field{{Name: "Content-Type", Value: "application/json"}},
			Body:   []byte(`{"customer":"Emmy {{n}}","amount":12.5}`),
		},
		User: bearer("ada"), Other: bearer("sofya"), TLS: trusting(t),
		Counters: []check.Counter{executed}, Level: check.LevelStrict,
	})
	if badHeader {
		apps.Wants(t, report, "KEY-08", "a request that should be accepted or refused is answered with a server error.")
		return
	}
	apps.Wants(t, report, "", "checks passed: what was sent twice happened once.")
}

func bearer(token string) *check.User {
	return &check.User{Header: []wire.Field{{Name: "Authorization", Value: "Bearer " + token}}}
}
