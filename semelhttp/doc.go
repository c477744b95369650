// Package semelhttp is Semel's HTTP door: a middleware that runs each request
// with an Idempotency-Key header once, and a client transport that sends such
// requests.
//
//	guard, err := semel.New(store, nil)
//	door, err := semelhttp.New(guard, semelhttp.ScopeBy(accountOf), nil)
//	mux.Handle("POST /invoices", recovering(authorise(door.Handler(createInvoice))))
//
// handler.go walks a request through the door:
//
//	method ─ key ─ scope ─ body, fingerprint ─ Guard.Begin ─┬─ claim:   the handler runs; its answer is held back,
//	   │      │      │              │                       │           recorded, and only then sent
//	   │      │      │              │                       ├─ record:  the recorded answer is sent
//	   ▼      ▼      ▼              ▼                       ▼
//	 pass   pass    400            413                   refusal: a problem document (problem.go)
//	 on     or 400
//
// The request side starts the answer side and reads its result when the handler
// has returned. No pointer leads back, because a handler can outlive its request:
//
//	request side                        answer side
//	exchange (handler.go) ────────────▶ execution (execution.go) ──▶ capture (capture.go)
//	key, body, decision;                claim, disposition,          the answer held back,
//	reused by later requests            settlement                   its header and memory
//
// The decision to send is made before the first byte: a complete answer is
// recorded with its body. An answer that is too long, flushed or hijacked is
// recorded without one; a later attempt does not run, and learns that the answer
// was not kept. The handler's context is the claim's: it outlives the connection
// and ends with [semel.Policy.MaxRun], or when the claim is lost.
//
// The header map of an answer is that of the underlying writer. Headers set
// before the handler ran belong to outer handlers and are not recorded; what the
// handler added, changed or removed before WriteHeader is.
//
// What recovers panics, retries, or stops waiting belongs outside of the door. A panic
// leaves the outcome unknown, and so does a server error by which a layer inside hides
// one, or a handler that still runs (layer.go).
//
// In addition, [Options.BeforeReplay] checks the caller's right before a
// repetition learns anything about an earlier attempt (replayright.go),
// [Middleware.StatusHandler] reports the outcome of a request (status.go), and
// [Middleware.PolicyHandler] publishes what callers may rely on (policy.go).
package semelhttp
