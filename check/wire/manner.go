package wire

import "time"

// Fault is a failure between the client and the service.
type Fault string

// The faults.
const (
	None        Fault = ""
	CutInHead   Fault = "cut-in-head"   // closed before the head was complete: nothing may run
	CutInBody   Fault = "cut-in-body"   // closed when half of the body was sent; an empty one has no half, and is complete
	HangUp      Fault = "hang-up"       // closed when everything was sent, without reading
	CutInAnswer Fault = "cut-in-answer" // closed when the head of the answer was read
	LoseAnswer  Fault = "lose-answer"   // the service answered to the end; the answer never arrives
)

// Manner says how a request is sent. The zero value sends it whole, and reads the whole answer.
type Manner struct {
	Fault Fault
	// Chunked sends the body in chunks, without Content-Length.
	Chunked bool
	// Expect sends Expect: 100-continue, and the body when the service asks for it, or after a second (RFC 9110
	// §10.1.1). If the service answers at once, the body is never sent.
	Expect bool
	// Pause separates the pieces of the body, of which there are Pieces; zero sends it in one.
	Pause  time.Duration
	Pieces int
	// Timeout bounds the exchange after the connection is established. Zero means that of the [Client].
	Timeout time.Duration
}
