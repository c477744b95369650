// Package wire sends one HTTP request over one connection, and never repeats it on its own.
//
// The standard library's clients resend requests after a lost connection, refuse header values that occur in practice, and
// normalise requests. A check has to know exactly what was sent, and how often. So this package writes HTTP/1.1 (RFC 9112)
// by hand: the header lines in the order and spelling of the [Request], and one connection for each request, which the
// service closes after its answer. A [Manner] says what goes wrong on the way.
//
//	dial ── write head ── write body ── read head ── read body ── close
//	  │          │             │             │            │
//	  │          │             │             │            └ CutInAnswer: closed after the head
//	  │          │             │             └ LoseAnswer: read to the end, and thrown away
//	  │          │             ├ HangUp: closed when all is written
//	  │          │             └ CutInBody: closed in the middle
//	  │          └ CutInHead: closed before the empty line
//	  └ ErrUnreachable, ErrTLS: nothing was sent
//
// Three alternatives to [Client.Do]: a [Held] request waits for its end, so that many can be completed at the same moment;
// [H2] sends several at once as streams of one HTTP/2 connection; and a [Relay] loses answers that a client cannot lose on
// its own, by resetting the connection after them.
package wire
