package wire

import (
	"net/http"
	"time"
)

// Answer is what came back.
type Answer struct {
	Proto  string
	Status int
	Header http.Header
	Body   []byte
	// Cut says that Body is not all of it: it was longer than [Client.MaxBody],
	// or the connection was gone before its end. The latter comes with ErrCut,
	// ErrTimeout, or the fault that was asked for.
	Cut bool
	// Took is the time from the first attempt to connect to the last byte read.
	Took time.Duration
}
