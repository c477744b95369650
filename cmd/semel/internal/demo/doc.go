// Package demo serves the naive invoicing application three times: as it is,
// with the browser client's script in its pages, and behind the gateway, with a
// page that explains what to do and shows the counts live; and plays what
// people, browsers and programs do to the first and the last without a browser.
//
//	browser ──▶ page                                                 explains, counts, sets networks, resets
//	        ──▶ watch ──▶ network ──▶ application (unprotected)
//	        ──▶ watch ──▶ network ──▶ application with the script (guarded)
//	        ──▶ watch ──▶ network ──▶ gateway ──▶ watch ──▶ application (protected)
//
// A network does nothing until the page makes it bad.
// A watch knows which requests are under way, so that nothing here ever has to
// wait for a length of time.
package demo
