// Package semelenvoy makes requests to an application behind Envoy happen once. It is a server of Envoy's external processing
// protocol (ext_proc): Envoy asks it about every request and every answer, and it decides by the rules of semel gateway.
//
//	caller ──▶ Envoy ──▶ router ──▶ application
//	             │ ▲
//	     ext_proc│ │one stream of messages for each request
//	             ▼ │
//	          Processor ──▶ gateway.Gateway (rules, claim, replay)
//
// One request, in the order of its messages; Envoy waits for a reply to each of them:
//
//	request headers ──▶ no key, no rule: continue, and send no more of it
//	       │
//	request body ─────▶ replay, refusal, in flight: an immediate response; the application is not asked
//	       │            claimed: continue, without retries of Envoy's own
//	response headers ─▶ an answer of Envoy's own: unknown
//	       │            a stream: recorded without a body, then continue
//	response body ────▶ recorded, then continue with Idempotency-Status
//
// What ends the stream decides as the gateway would (promise 3):
//
//	before the request was let through             released, or nothing was claimed: a retry runs
//	after it, and before a whole answer came back  unknown: the caller has gone, Envoy gave up, or it answered on its own
//	after the outcome was recorded                 a retry gets the recorded answer
//
// Envoy passes a request on unprocessed when a processor ends the stream without an error or replies out of order. So a stream ends with
// an error unless Envoy has ended it, and every message gets a reply of its own kind.
//
// The filter needs a configuration that buffers bodies and fails closed; docs/proxies.md has it. A processor refuses streams that announce
// another one, as far as Envoy tells.
package semelenvoy
