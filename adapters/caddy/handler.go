package semelcaddy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/reverseproxy"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/internal/cli/openstore"
	"github.com/semel-dev/semel/rules"
)

var (
	_ caddy.Provisioner           = (*Handler)(nil)
	_ caddy.CleanerUpper          = (*Handler)(nil)
	_ caddyhttp.MiddlewareHandler = (*Handler)(nil)
)

// Handler is the module http.handlers.semel. Its fields are its JSON; placeholders such as {env.SEMEL_STORE} are replaced when Caddy
// loads the config, which then shows no password.
type Handler struct {
	// Store is the DSN of the store, as of semel gateway --store. Required. Handlers with one DSN share a store.
	Store string `json:"store"`
	// Rules names the file with the endpoint rules. Default: every POST and PATCH that carries an Idempotency-Key is protected.
	Rules string `json:"rules,omitempty"`
	// Upstream is the URL of the application. Only rules that ask it (authorize, reconcile) need it.
	Upstream string `json:"upstream,omitempty"`
	// KeyRequired refuses POST and PATCH requests without a key where no rule matches.
	KeyRequired bool `json:"key_required,omitempty"`

	gateway *gateway.Gateway
	handler http.Handler
	dsn     string // of the store that was opened; empty for none
	life    life
}

// CaddyModule implements [caddy.Module].
func (*Handler) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.semel", New: func() caddy.Module { return new(Handler) }}
}

// Provision opens the store and reads the rules. The error says everything that is wrong with the config.
func (h *Handler) Provision(ctx caddy.Context) error {
	known := caddy.NewReplacer()
	dsn, file, upstream := known.ReplaceKnown(h.Store, ""), known.ReplaceKnown(h.Rules, ""), known.ReplaceKnown(h.Upstream, "")
	if dsn == "" {
		return errors.New("semel: store is missing, or its placeholder is empty (write it like: store sqlite:semel.db)")
	}
	config := &gateway.Config{Upstream: upstream, KeyRequired: h.KeyRequired, Next: proceed, Logger: ctx.Slogger()}
	if file != "" {
		var err error
		if config.Rules, err = rules.Load(file); err != nil {
			return fmt.Errorf("semel: %w", err)
		}
	}
	opened, _, err := stores.LoadOrNew(dsn, func() (caddy.Destructor, error) {
		store, err := openstore.Open(context.WithoutCancel(ctx), dsn, &openstore.Options{Logger: config.Logger})
		return shared{store}, err
	})
	if err != nil {
		return fmt.Errorf("semel: %w", err)
	}
	h.dsn = dsn
	held, ok := opened.(shared)
	if !ok {
		return fmt.Errorf("semel: the store of %s is a %T", openstore.Redact(dsn), opened)
	}
	config.Store = held.Store
	if h.gateway, err = gateway.New(config); err != nil {
		return err
	}
	h.handler = h.gateway.Handler()
	return nil
}

// Cleanup ends the handler after its last request: Caddy calls it on a reload while requests of the old config run.
func (h *Handler) Cleanup() error {
	return h.life.end(func() error {
		var err error
		if h.gateway != nil {
			err = h.gateway.Close()
		}
		if h.dsn != "" {
			_, closed := stores.Delete(h.dsn) // the last handler of a store closes it
			err = errors.Join(err, closed)
		}
		return err
	})
}

// ServeHTTP implements [caddyhttp.MiddlewareHandler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	if semel.ClaimFrom(r.Context()) != nil { // another semel around this one has it
		return next.ServeHTTP(w, r)
	}
	h.life.enter()
	defer h.life.leave()
	c := &call{next: next}
	trusted, _ := caddyhttp.GetVar(r.Context(), caddyhttp.TrustedProxyVarKey).(bool)
	r = r.WithContext(context.WithValue(r.Context(), callKey{}, c))
	if !trusted {
		r.Header, c.unproven = withoutOrigin(r.Header)
	}
	h.handler.ServeHTTP(w, r)
	return c.err
}

// withoutOrigin parts a header from what Caddy's proxy says in it about where the request came from. Caddy's proxy does not
// pass that on from a caller that it does not trust, so the gateway must not judge by it.
func withoutOrigin(h http.Header) (rest, origin http.Header) {
	rest, origin = h.Clone(), http.Header{}
	for _, name := range []string{"X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if values, ok := rest[name]; ok {
			origin[name] = values
			delete(rest, name)
		}
	}
	return rest, origin
}

// call is one request on its way to the next handler.
type call struct {
	next     caddyhttp.Handler
	unproven http.Header // for Caddy's proxy to judge
	err      error       // for Caddy to handle
}

type callKey struct{}

// proceed calls Caddy's next handler. Without a key, its errors are Caddy's to handle. Under a claim, an error with a 4xx status, such
// as the 404 of a file server, is an answer and is recorded as one; a connection that could not be made is released.
func proceed(w http.ResponseWriter, r *http.Request) error {
	c, ok := r.Context().Value(callKey{}).(*call)
	if !ok {
		return semel.MarkReleased(errors.New("the request did not come through Caddy"))
	}
	maps.Copy(r.Header, c.unproven)
	err := c.next.ServeHTTP(w, r)
	if err == nil {
		return nil
	}
	if semel.ClaimFrom(r.Context()) == nil {
		c.err = err
		return nil
	}
	if answer, ok := errors.AsType[caddyhttp.HandlerError](err); ok && answer.StatusCode >= http.StatusBadRequest && answer.StatusCode < http.StatusInternalServerError {
		w.WriteHeader(answer.StatusCode)
		return nil
	}
	if _, ok := errors.AsType[reverseproxy.DialError](err); ok || noUpstream(err) {
		return semel.MarkReleased(err)
	}
	return err
}

// noUpstream reports whether a proxy found none of its upstreams healthy, and had not tried one. Caddy keeps that error to itself.
func noUpstream(err error) bool {
	told, ok := errors.AsType[caddyhttp.HandlerError](err)
	return ok && told.StatusCode == http.StatusServiceUnavailable && told.Err != nil && told.Err.Error() == "no upstreams available"
}
