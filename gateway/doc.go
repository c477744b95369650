// Package gateway is a reverse proxy that makes requests to an application
// happen once, although the application knows nothing of it.
//
//	caller ──▶ route (rules) ──▶ semelhttp ──▶ httputil.ReverseProxy ──▶ upstream
//	                                │                                      │
//	                             semel.Guard ◀── how the claim ends ◀──────┘
//
// What the upstream does decides how a claim ends (upstream.go, proxy.go):
//
//	no byte of the request was sent (refused, no route, TLS)   released, 502: a retry runs
//	sent, and no answer came (reset, hung up, too late)        unknown, 502 or 504
//	the answer broke off in the middle                         unknown, 502, or the connection is cut
//	a complete answer                                          by its status (semelhttp/header.go), as the rule says
//
// Whether a byte was sent is counted below TLS; where it cannot be told (a
// connection shared by HTTP/2 requests) it counts as sent. An answer longer
// than the route keeps is recorded by its status before its body has come to
// an end.
//
// A request goes to the upstream at most once per claim. net/http repeats a request
// that carries an Idempotency-Key when a kept-alive connection dies, so it does not get
// to see that header under its canonical name.
//
// With [Config.Next], the gateway is a handler within another server, such as Caddy
// (adapters/caddy) or Envoy (adapters/envoy), and that server forwards: next.go decides how its
// errors end a claim.
//
// Requests without a key, upgrades, streams, and large bodies in both
// directions pass in constant memory; a large body with a key waits in a
// temporary file.
//
// A request is only as safe as its scope: the gateway distinguishes callers by their
// credentials (see package rules), and does not verify these. It replays an answer to
// any caller with the credentials of the first request, even if the application has
// withdrawn them since, unless the rule says authorize: then it asks the application
// before it answers a repetition.
//
// A request that falls under one rule as it is written, and under another as
// applications may read its path or method, is refused.
//
// Where a rule says form, package forms below this one puts a token into every page
// with such a form, and takes it as the key when the form comes back: its doc.go
// lists the files that a form passes through.
//
// Callers find the policy of every route at /.well-known/idempotency, and the outcome
// of a request below it, at /status. Where a rule says background, the gateway asks
// the upstream about unknown outcomes on its own. Operators have [Gateway.AdminHandler]; an admin
// API and a console are handed in, by [Config.Operators].
package gateway
