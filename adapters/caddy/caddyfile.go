package semelcaddy

import (
	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

func init() { //nolint:gochecknoinits // Caddy finds its modules so.
	caddy.RegisterModule(new(Handler))
	httpcaddyfile.RegisterHandlerDirective("semel", func(h httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
		made := new(Handler)
		return made, made.UnmarshalCaddyfile(h.Dispenser)
	})
	httpcaddyfile.RegisterDirectiveOrder("semel", httpcaddyfile.Before, "invoke") // what handles requests comes behind it
}

// UnmarshalCaddyfile implements [caddyfile.Unmarshaler]:
//
//	semel {
//		store        DSN
//		rules        FILE
//		upstream     URL
//		key_required
//	}
func (h *Handler) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next()
	if d.NextArg() {
		return d.Errf("semel takes a block, and no argument (%q)", d.Val())
	}
	texts := map[string]*string{"store": &h.Store, "rules": &h.Rules, "upstream": &h.Upstream}
	for d.NextBlock(0) {
		word := d.Val()
		text, known := texts[word]
		switch {
		case known && *text != "":
			return d.Errf("%s is given twice", word)
		case known && !d.AllArgs(text), word == "key_required" && d.NextArg():
			return d.ArgErr()
		case word == "key_required":
			h.KeyRequired = true
		case !known:
			return d.Errf("semel has no %q (it has store, rules, upstream and key_required)", word)
		}
	}
	if h.Store == "" {
		return d.Err("semel has no store (write it like: store sqlite:semel.db)")
	}
	return nil
}
