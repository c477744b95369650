// Package semelhttp is the HTTP door of Semel: a middleware that makes a
// request with an Idempotency-Key header happen once, and a client transport
// that sends one.
//
//	guard, err := semel.New(store, nil)
//	door, err := semelhttp.New(guard, semelhttp.ScopeBy(accountOf), nil)
//	mux.Handle("POST /invoices", authorise(door.Handler(createInvoice)))
//
// The walk of a request through this room, in handler.go:
//
//	method ─ key ─ scope ─ body, fingerprint ─ Guard.Begin ─┬─ claim: the handler runs, its answer is held back,
//	   │      │      │              │                       │         recorded, and only then sent (exchange.go, capture.go)
//	   │      │      │              │                       ├─ record: the recorded answer is sent (response.go)
//	   ▼      ▼      ▼              ▼                       ▼
//	 pass   pass    400            413                   refusal: a problem document (problem.go)
//	 on     or 400
//
// What goes out is decided before its first byte: an answer that is complete is
// recorded with its body; one that is too long, flushed or hijacked is recorded
// without, and a later attempt is told so, but does not run. The handler's
// context is the claim's: it outlives the connection and ends with
// [semel.Policy.MaxRun], or when the claim is lost.
//
// The header map of an answer is that of the writer underneath. What stood in
// it before the handler ran belongs to outer handlers and is not recorded; what
// the handler added, changed or removed before WriteHeader is.
//
// Beside the walk: [Options.BeforeReplay] is asked before a repetition is told
// anything of an earlier attempt (replayright.go), [Middleware.StatusHandler]
// tells a caller what became of a request (status.go), and
// [Middleware.PolicyHandler] what callers may rely on (policy.go).
package semelhttp
