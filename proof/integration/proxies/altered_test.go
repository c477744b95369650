package proxies_test

import (
	"strings"
	"testing"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/check/effects"
	"github.com/semel-dev/semel/check/wire"
	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/proof/integration/apps"
	"github.com/semel-dev/semel/rules"
)

// altered has, for each kind of proxy, what is replaced in the page's directives by some that remove the header with the key, that give
// every request another key, and that give all requests the same.
func (k *kind) altered() (at, removed, another, same string) {
	switch k.name {
	case "nginx":
		const set = "proxy_set_header Idempotency-Key "
		return `proxy_set_header Connection "";`, set + `"";`, set + "$request_id;", set + "one;"
	case "HAProxy":
		const set = "http-request set-header Idempotency-Key "
		return "default_backend semel", "http-request del-header Idempotency-Key", set + "%[uuid()]", set + "one"
	case "Apache":
		const set = "RequestHeader set Idempotency-Key "
		return "ProxyPreserveHost On", "RequestHeader unset Idempotency-Key", set + "%{UNIQUE_ID}e", set + "one"
	default:
		const set = "header_up Idempotency-Key "
		return "lb_try_duration 2s", "header_up -Idempotency-Key", set + "{http.request.uuid}", set + "one"
	}
}

// TestAlteredKeys: through a proxy that removes the header with the key or writes another one, semel check fails, and names the
// proxy as the likely cause. The gateway refuses what lost its key on a route that requires one.
func TestAlteredKeys(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kind) {
		t.Helper()
		at, removed, another, same := k.altered()
		for name, c := range map[string]struct {
			directive, failed, says string
			required                bool
		}{
			"removed":                  {removed, "BASIC-02", "no rule of it takes this request, or a proxy on the way removes Idempotency-Key", false},
			"removed, and required":    {removed, "BASIC-01", "a proxy on the way may remove Idempotency-Key, since the service says that a request with it had no key", true},
			"another for each request": {another, "BASIC-02", "a proxy on the way may give each request another Idempotency-Key", false},
			"the same for all":         {same, "BASIC-01", "a proxy on the way may replace Idempotency-Key by a key of its own", false},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				app := serve(t, newApplication(false), nil)
				gateway := serve(t, newRuledGateway(t, "http://"+app, c.required).Handler(), nil)
				p := k.start(t, k.before(t, protocols(t)[0], at, at+"\n"+c.directive), []string{gateway, gateway})
				reason := failing(t, p.url, app)[c.failed]
				if !strings.Contains(reason, c.says) {
					t.Errorf("%s failed because %q, want it to say that %s", c.failed, reason, c.says)
				}
			})
		}
	})
}

func newRuledGateway(t *testing.T, upstream string, required bool) *gateway.Gateway {
	t.Helper()
	text := "version: 1\nroutes:\n  - name: orders\n    match: {methods: [POST], path: /orders}\n"
	if required {
		text += "    required: true\n"
	}
	file, err := rules.Parse("rules.yaml", []byte(text))
	must(t, err)
	g, err := gateway.New(&gateway.Config{Upstream: upstream, Store: newStore(t), Rules: file})
	must(t, err)
	t.Cleanup(func() { must(t, g.Close()) })
	return g
}

// failing returns the reasons of the checks that fail, by their ids.
func failing(t *testing.T, url, app string) map[string]string {
	t.Helper()
	executed, err := effects.JSON(nil, "http://"+app+"/", "/executed", nil)
	must(t, err)
	report := apps.Check(t, "ietf", &check.Config{
		Template: check.Template{
			Method: "POST", URL: url + "/orders",
			Header: []wire.Field{{Name: "Content-Type", Value: "application/json"}},
			Body:   []byte(`{"customer":"Emmy {{n}}","amount":12.5}`),
		},
		User: bearer("ada"), Counters: []check.Counter{executed}, Only: []string{"BASIC-01", "BASIC-02"},
	})
	reasons := map[string]string{}
	for i := range report.Results {
		if one := &report.Results[i]; one.Verdict == check.Fail {
			reasons[one.ID] = one.Reason
		}
	}
	return reasons
}
