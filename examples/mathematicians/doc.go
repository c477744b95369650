// Package mathematicians is an API in which a create is safe to send as often as
// the client likes, by ids alone: the client asks for an id, or with
// [Options.ClientIDs] makes a UUID, and every POST carries it.
//
//	             GET …/new                  POST, first
//	not known ─────────────▶ handed out ─────────────────▶ there ──┐
//	    │                        │                           ▲     │ POST again: 201 and the first answer
//	    └─ POST: 404             └─ POST that is refused:    └─────┘ POST of something else: 422, nothing changes
//	                                nothing changes
//
// The database is authoritative: hand-outs are rows, and the UNIQUE constraint on
// an id makes the create happen once, whatever crashes in between. A lost answer
// costs another POST, a lost hand-out costs an unused number.
//
// The row's own integer is an [ids.Internal]: it is in no URL, body, log or
// error. Package client has the other half: a queue that is kept on the
// client's disk and sends until the answer is there.
package mathematicians
