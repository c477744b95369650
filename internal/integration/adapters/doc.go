// Package adapters shows how semelhttp is mounted in routers that have a
// middleware of their own, and tests that it works there.
//
// chi and gorilla/mux take the door as it is:
//
//	router.Use(door.Handler)
//
// Echo and Gin need a few lines, because their handlers return errors to an
// outer handler or write through a writer of their own: [Echo] and [Gin] are to
// be copied. Around the whole of either, the door fits as it is:
//
//	http.ListenAndServe(addr, door.Handler(engine))
//
// Everywhere the door goes inside of what authenticates and authorises.
package adapters
