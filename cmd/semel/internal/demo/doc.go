// Package demo serves the naive invoicing application two times, once as it
// is and once behind the gateway, with a page that explains what to do and
// shows both counts live; and plays what people, browsers and programs do to
// both copies without a browser.
//
//	browser ──▶ page                                     explains, counts, resets
//	        ──▶ watch ──▶ application (unprotected)
//	        ──▶ watch ──▶ gateway ──▶ watch ──▶ application (protected)
//
// A watch knows which requests are under way, so that nothing here ever has to
// wait for a length of time.
package demo
