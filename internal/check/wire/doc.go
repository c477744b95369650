// Package wire sends one HTTP request over one connection, and never a second
// time by itself.
//
// The clients of the standard library resend a request whose connection was
// lost, refuse header values that strangers do send, and tidy what they are
// given. A check has to know how often something was sent, and exactly what. So
// this package writes HTTP/1.1 (RFC 9112) by hand: the header lines in the order
// and spelling of the [Request], one connection for each request, which the
// service closes when it has answered. A [Manner] says what goes wrong on the
// way.
//
//	dial ── write head ── write body ── read head ── read body ── close
//	  │          │             │             │            │
//	  │          │             │             │            └ CutInAnswer: closed when the head is there
//	  │          │             │             └ LoseAnswer: read to the end, and thrown away
//	  │          │             ├ HangUp: closed when all is written
//	  │          │             └ CutInBody: closed in the middle
//	  │          └ CutInHead: closed before the empty line
//	  └ ErrUnreachable, ErrTLS: nothing was sent
//
// Three more things stand beside [Client.Do]: a [Held] request waits for its end,
// so that many can be complete in one moment; [H2] sends several at once as
// streams of one HTTP/2 connection; and a [Relay] loses on the way what a client
// cannot lose by itself, an answer behind which the connection is reset.
package wire
