// Package webform reads the forms of an HTML page, and writes what a browser
// without scripts sends when one of them is submitted.
//
//	page ── Parse ──▶ Form ── Press ──▶ Submission ── Overlay ──▶ fields ── Encode ──▶ body
//	                   │                    │            │
//	                   │                    │            └ what a person types replaces what stands there
//	                   │                    └ a button may have a target of its own
//	                   └ named by its id, its name or its action
//
// Everything in it is a plain function of its arguments, and bounded by their
// size.
package webform
