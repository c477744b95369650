package faulty

import (
	"bytes"
	"maps"
	"net/http"
)

// Answer buffers the answer of a handler. One request at a time uses it until it is recorded; from then on it never
// changes.
type Answer struct {
	Status int
	Body   bytes.Buffer

	header http.Header
}

// Header implements [http.ResponseWriter].
func (a *Answer) Header() http.Header {
	if a.header == nil {
		a.header = http.Header{}
	}
	return a.header
}

// WriteHeader implements [http.ResponseWriter].
func (a *Answer) WriteHeader(status int) {
	if a.Status == 0 {
		a.Status = status
	}
}

// Write implements [http.ResponseWriter].
func (a *Answer) Write(p []byte) (int, error) {
	a.finish()
	return a.Body.Write(p)
}

// finish sets the status that the server adds for handlers that write nothing.
func (a *Answer) finish() { a.WriteHeader(http.StatusOK) }

// kept returns the answer as it is recorded: without the headers for one connection, or for the first caller's browser
// only.
func (a *Answer) kept() *Answer {
	copied := &Answer{Status: a.Status, header: a.Header().Clone()}
	_, _ = copied.Body.Write(a.Body.Bytes()) // never fails
	for _, name := range []string{"Set-Cookie", "Date"} {
		copied.header.Del(name)
	}
	return copied
}

// writeTo sends the answer; a repetition is marked as one.
func (a *Answer) writeTo(w http.ResponseWriter, again bool) {
	maps.Copy(w.Header(), a.Header())
	if again {
		w.Header().Set("Idempotent-Replayed", "true")
	}
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body.Bytes()) // the client may be gone
}
