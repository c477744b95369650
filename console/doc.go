// Package console is a screen for operators: what happened once, what is unknown, and who decided. Its pages are drawn by
// the server, and work without scripts.
//
// An operator logs in with a token of the admin API, typed once into a form. The session that begins is a random cookie (session.go) for
// this host alone, which no script and no other site's page can use; the server keeps its hash.
//
//	           token is known
//	logged out ──────────────▶ logged in ──┬─ 8 hours, log out, restart ─▶ logged out
//	                               ▲       │
//	                               └───────┴─ a page, or a verdict with the session's own form token
//
// A verdict is that of package operator: it carries the fence of the record that the operator saw, a reason, and goes
// through the audit trail.
package console
