package faulty

import (
	"bytes"
	"maps"
	"net/http"
)

// Answer holds back what a handler writes. It is used by one request at a time
// until it is recorded, and never changed from then on.
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

// finish is what the server does for handlers that write nothing.
func (a *Answer) finish() { a.WriteHeader(http.StatusOK) }

// kept is the answer as it is recorded: without what was meant for one
// connection, or for the first caller's browser only.
func (a *Answer) kept() *Answer {
	copied := &Answer{Status: a.Status, header: a.Header().Clone()}
	_, _ = copied.Body.Write(a.Body.Bytes()) // never fails
	for _, name := range []string{"Set-Cookie", "Date"} {
		copied.header.Del(name)
	}
	return copied
}

// writeTo sends it; a repetition says that it is one.
func (a *Answer) writeTo(w http.ResponseWriter, again bool) {
	maps.Copy(w.Header(), a.Header())
	if again {
		w.Header().Set("Idempotent-Replayed", "true")
	}
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body.Bytes()) // the client may have gone
}
