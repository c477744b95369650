// Package webhook receives webhooks so that each event takes effect once. A [Verifier]
// checks that a delivery was signed by its sender, and recently, and takes the key of the
// intent from what is signed; its [Verifier.Handler] lets the delivery through to a
// handler, once, and replays the answer to every repetition.
//
//	headers ─ time ─ body ─ signature ─ name of the event ─ semelhttp ─ the handler
//	   │       │      │        │               │
//	   ▼       ▼      ▼        ▼               ▼
//	400, 401  401  400, 413   401             400
//
//	scheme     signed              the key                            fingerprint
//	Standard   id, time, body      webhook-id                         body
//	Stripe     time, body          member /id of the body, or digest  none, or body
//	GitHub     body                digest of the body, or a member    body, or none
//
// The key is never something that the sender did not sign, such as X-GitHub-Delivery,
// and the scope is the endpoint alone: a stranger with a recorded delivery can change
// everything else about it.
//
// A [Sender] delivers the messages of package outbox as Standard Webhooks, and reaches no
// address that is not public.
package webhook
