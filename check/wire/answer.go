package wire

import (
	"net/http"
	"time"
)

// Answer is an answer as received.
type Answer struct {
	Proto  string
	Status int
	Header http.Header
	Body   []byte
	// Cut means that Body is incomplete: it was longer than [Client.MaxBody], or the connection ended early. The latter
	// comes with ErrCut, ErrTimeout, or the requested fault.
	Cut bool
	// Took is the time from the first attempt to connect to the last byte read.
	Took time.Duration
}
