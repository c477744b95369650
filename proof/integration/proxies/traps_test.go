package proxies_test

import (
	"net/http"
	"testing"
)

// TestTraps shows, for every setting that docs/operations.md warns of, that it executes an order twice.
func TestTraps(t *testing.T) {
	t.Parallel()
	t.Run("Apache resends what is not read in time with ping", func(t *testing.T) {
		t.Parallel()
		app := newApplication(false)
		c := newCaller(t, apache().start(t, apache().eager, twice(t, app, nil)).url)
		c.send(http.MethodPost, "/unread", "amount=1", "").want(t, http.StatusCreated, "")
		app.want(t, "/unread", 2)
	})
	t.Run("Apache resends a bare POST over HTTP/2", func(t *testing.T) {
		t.Parallel()
		app := newApplication(true)
		directives := replace(t, replace(t, apache().page(t), apache().secure...), "https://", "h2://")
		c := newCaller(t, apache().start(t, directives, twice(t, app, trusting(t))).url)
		c.warm()
		c.send(http.MethodPost, "/lost", "", "").want(t, http.StatusCreated, "")
		app.want(t, "/lost", 2)
	})
	t.Run("Apache says over HTTP/2 that a lost answer is an error of the application", func(t *testing.T) {
		t.Parallel()
		app := newApplication(true)
		directives := replace(t, replace(t, apache().page(t), apache().secure...), apache().front...)
		p := apache().start(t, directives, twice(t, app, trusting(t)))
		c := newCaller(t, "http://"+serve(t, newGateway(t, p.url, newStore(t)).Handler(), nil))
		c.send(http.MethodPost, "/lost", "amount=1", "k").want(t, http.StatusInternalServerError, "released")
		c.send(http.MethodPost, "/lost", "amount=1", "k").want(t, http.StatusCreated, "executed")
		app.want(t, "/lost", 2)
	})
	t.Run("nginx resends PUT", func(t *testing.T) {
		t.Parallel()
		for directives, want := range map[string]int{
			nginx().page(t): 2,
			replace(t, nginx().page(t), "proxy_next_upstream error timeout;", "proxy_next_upstream off;"): 1,
		} {
			app := newApplication(true)
			c := newCaller(t, nginx().start(t, directives, twice(t, app, nil)).url)
			c.warm()
			c.send(http.MethodPut, "/lost", "amount=1", "")
			app.want(t, "/lost", want)
		}
	})
	t.Run("two gateways do not know each other's keys under names of their own", func(t *testing.T) {
		t.Parallel()
		apache, caddy := apache(), caddy()
		for k, change := range map[*kind][]string{
			apache: {"ProxyPreserveHost On", "ProxyPreserveHost Off"},
			caddy:  {secondUpstream + " {", secondUpstream + " {\n\t\theader_up Host {upstream_hostport}\n\t\tlb_policy round_robin"},
		} {
			app := newApplication(false)
			c := newCaller(t, k.start(t, replace(t, k.page(t), change...), gateways(t, serve(t, app, nil), nil)).url)
			for range 2 {
				c.send(http.MethodPost, "/order", "amount=1", "k").want(t, http.StatusCreated, "executed")
			}
			app.want(t, "/order", 2)
		}
	})
}
