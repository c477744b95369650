// Package semelcaddy makes requests to an application behind Caddy happen once. It is the module http.handlers.semel, for a Caddy
// that is built with it:
//
//	xcaddy build --with github.com/semel-dev/semel/adapters/caddy
//
// In a Caddyfile, write it in any place; Caddy runs it after encode and before handle, route and reverse_proxy:
//
//	shop.example {
//		semel {
//			store {env.SEMEL_STORE}
//			rules semel.yaml
//		}
//		reverse_proxy 127.0.0.1:9000
//	}
//
// The rules are those of semel gateway, in the same file, and requests are answered as semel gateway answers them. What differs:
//
//   - An error of the handler behind it, such as a proxy whose upstream cannot be reached, is answered here where the request has a
//     key: released if nothing was sent, unknown otherwise. Without a key Caddy handles it, with its handle_errors.
//   - Caddy's proxy is kept from sending a request with a key again on its own. Do not configure it to do so either:
//     lb_retry_match with POST sends twice under one claim.
//   - Slow callers and graceful ends are Caddy's business. A reload lets requests that run end first.
//   - It has no admin handler: operators use semel console and semel records with the same store.
package semelcaddy
