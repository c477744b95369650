package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/operator"
)

// background builds the policy by which a route's records are reconciled
// without a caller who asks.
func (g *Gateway) background(rt *route) error {
	rule := rt.rule.Reconcile
	if rule == nil || rule.Background == nil {
		return nil
	}
	if g.config.Guard.HideKeys {
		return fmt.Errorf("gateway: route %q: reconciling in the background needs the scope and the key, which hide-keys keeps out of the store; choose one", rt.rule.Name)
	}
	c := &reconciler{asker: g.newAsker(&rt.rule), rule: rule}
	if name := rule.Background.AuthorizationEnv; name != "" {
		if c.authorization = os.Getenv(name); c.authorization == "" {
			return fmt.Errorf("gateway: route %q: the environment variable %s, which holds the credentials for the background, is empty", rt.rule.Name, name)
		}
	}
	rt.unattended = rt.policy
	rt.unattended.Reconcile = c.reconcileAlone
	return nil
}

// reconcileInBackground starts it, where a rule wants it.
func (g *Gateway) reconcileInBackground() error {
	wanted := false
	for _, rt := range g.router.all {
		wanted = wanted || rt.unattended.Reconcile != nil
	}
	if !wanted {
		return nil
	}
	how := g.config.Background
	how.Policy = func(rec *semel.Record) (semel.Policy, bool) {
		r, err := requestOf(rec)
		if err != nil {
			return semel.Policy{}, false
		}
		rt := g.router.find(r)
		policy := rt.unattended
		if rt.rule.Key.Derive != nil && strings.HasPrefix(rec.Name, "derived:") {
			policy.Retention = rt.derived.Retention
		}
		return policy, rt.unattended.Reconcile != nil
	}
	records, err := operator.New(g.guard, nil)
	if err == nil {
		err = records.ReconcileInBackground(how)
	}
	if err != nil {
		return fmt.Errorf("gateway: %w", err)
	}
	return nil
}

// reconcileAlone is a Reconcile of semel.Policy that runs without a request.
func (c *reconciler) reconcileAlone(ctx context.Context, rec semel.Record) (semel.Reconciliation, error) {
	r, err := requestOf(&rec)
	if err != nil {
		return semel.Reconciliation{}, err
	}
	if c.authorization != "" {
		r.Header.Set("Authorization", c.authorization)
	}
	return c.reconcile(context.WithValue(ctx, attemptKey{}, &attempt{request: r, name: rec.Name}), rec)
}

// requestOf returns the request of a record, with the method, host and path of its
// scope, as semelhttp.ScopeBy writes them.
func requestOf(rec *semel.Record) (*http.Request, error) {
	words := strings.Split(rec.Scope, " ")
	const principal, method, host, path, all = 0, 1, 2, 3, 4
	if len(words) != all || words[principal] == "" {
		return nil, errors.New("the scope does not tell the request's path, which was too long for it")
	}
	u, err := url.ParseRequestURI(words[path])
	if err != nil {
		return nil, fmt.Errorf("the scope's path cannot be read: %w", err)
	}
	return &http.Request{Method: words[method], Host: words[host], URL: u, Header: http.Header{}}, nil
}
