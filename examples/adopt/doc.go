// Package adopt holds the code of docs/adopt.md and tests it: how Semel is mounted in routers and servers of others.
//
// chi, gorilla/mux and connect take the door as it is:
//
//	router.Use(door.Handler)
//
// Echo and Gin need a few lines, because their handlers return errors to an
// outer handler or write through a writer of their own: [Echo] and [Gin] are to
// be copied. Around the whole of either, the door fits as it is:
//
//	http.ListenAndServe(addr, door.Handler(engine))
//
// Everywhere the door goes inside of what authenticates and authorises, recovers panics, retries, or stops waiting.
package adopt
