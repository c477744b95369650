// Package stage serves the naive invoicing application several times: unchanged, with the browser client's script in its pages,
// and behind the gateway; and for its page without a form, unchanged and behind a gateway with "page: true". Its own page explains what to do
// and shows the counts live. Without a browser, it replays the behaviour of people, browsers and programs on the copies without
// a gateway and behind one.
//
//	browser ──▶ page                                                 explains, counts, sets networks, resets
//	        ──▶ watch ──▶ network ──▶ application (unprotected, scripts)
//	        ──▶ watch ──▶ network ──▶ application with the script (guarded)
//	        ──▶ watch ──▶ network ──▶ gateway ──▶ network ──▶ watch ──▶ application (protected, paged)
//	        ──▶ console of the gateway                               shows and settles what is unknown
//
// A network forwards everything until the page impairs it.
// A watch tracks the requests under way, so that nothing here has to sleep.
package stage
