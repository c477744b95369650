// Package webform reads the forms of an HTML page, and writes the body that a browser without scripts submits.
//
//	page ── Parse ──▶ Form ── Press ──▶ Submission ── Overlay ──▶ fields ── Encode ──▶ body
//	                   │                    │            │
//	                   │                    │            └ typed values replace those of the page
//	                   │                    └ a button may have its own target
//	                   └ named by its id, its name or its action
//
// Everything in it is a plain function of its arguments, bounded by their size.
package webform
