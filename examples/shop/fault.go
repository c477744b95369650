package shop

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// The modes of a [Fault].
const (
	// FaultDelay waits before the handler runs, until another fault is set at most.
	FaultDelay = "delay"
	// FaultLoseAnswer runs the handler and closes the connection without an answer.
	FaultLoseAnswer = "lose-answer"
	// FaultDropBefore closes the connection without reading the body.
	FaultDropBefore = "drop-before"
	// FaultStatus503 answers 503; nothing runs.
	FaultStatus503 = "status-503"
	// FaultCloseAfterRead reads the whole body and closes; nothing runs.
	FaultCloseAfterRead = "close-after-read"
)

const (
	maxFaultDelay = time.Minute
	maxFaultCount = 1 << 20
)

// Fault happens to the next POST requests.
type Fault struct {
	// Mode is one of the modes above; empty means that all is well.
	Mode string `json:"mode"`
	// Milliseconds is the wait of FaultDelay, at most a minute. With
	// FaultStatus503 they go out as Retry-After, in whole seconds.
	Milliseconds int64 `json:"ms"`
	// Count is to how many requests it happens.
	Count int `json:"count"`
}

// check says what is wrong with a fault.
func (f Fault) check() error {
	modes := []string{"", FaultDelay, FaultLoseAnswer, FaultDropBefore, FaultStatus503, FaultCloseAfterRead}
	if !slices.Contains(modes, f.Mode) {
		return wrongError(fmt.Sprintf("mode: one of %q", modes))
	}
	if f.Milliseconds < 0 || f.Milliseconds > maxFaultDelay.Milliseconds() {
		return wrongError("ms: 0 to 60000")
	}
	if f.Count < 0 || f.Count > maxFaultCount {
		return wrongError("count: 0 to 1048576")
	}
	return nil
}

// Faults breaks connections and servers on purpose, below the handlers. The
// zero value breaks nothing. It is safe for concurrent use.
type Faults struct {
	mu       sync.Mutex // guards the fields below
	fault    Fault
	over     chan struct{} // closed when another fault is set
	requests int
}

// ServeHTTP sets the fault (POST) and tells how often it is still to happen
// and how many POST requests came so far (GET).
func (f *Faults) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		var asked Fault
		err := json.NewDecoder(r.Body).Decode(&asked)
		if err == nil {
			err = asked.check()
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusUnprocessableEntity)
			return
		}
		f.set(asked)
	}
	f.mu.Lock()
	state := struct {
		Fault
		Requests int `json:"requests"`
	}{f.fault, f.requests}
	f.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(state); err != nil {
		return // the client is gone
	}
}

// Wrap puts the faults around next. Requests to /faults are spared.
func (f *Faults) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path == "/faults" {
			next.ServeHTTP(w, r)
			return
		}
		fault, over := f.next()
		switch fault.Mode {
		case FaultDelay:
			if !wait(r, time.Duration(fault.Milliseconds)*time.Millisecond, over) {
				return
			}
			next.ServeHTTP(w, r)
		case FaultLoseAnswer:
			next.ServeHTTP(&lostAnswer{header: http.Header{}}, r)
			hangUp(w)
		case FaultDropBefore:
			hangUp(w)
		case FaultStatus503:
			if fault.Milliseconds > 0 {
				w.Header().Set("Retry-After", strconv.FormatInt((fault.Milliseconds+999)/1000, 10))
			}
			http.Error(w, "not now", http.StatusServiceUnavailable)
		case FaultCloseAfterRead:
			_, _ = io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, maxBodyBytes)) // it is closed whatever came
			hangUp(w)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// set replaces the fault and ends the delays of the one before.
func (f *Faults) set(fault Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over != nil {
		close(f.over)
	}
	f.fault, f.over = fault, make(chan struct{})
}

// next counts a request and returns what is to happen to it, and a channel that is closed when another fault is set.
func (f *Faults) next() (Fault, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests++
	if f.fault.Count == 0 {
		return Fault{}, nil
	}
	f.fault.Count--
	return f.fault, f.over
}

// wait reports whether the client was still there at the end.
func wait(r *http.Request, d time.Duration, over <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-over:
		return true
	case <-r.Context().Done():
		return false
	}
}

// hangUp closes the connection without an answer. HTTP/2 resets the stream.
func hangUp(w http.ResponseWriter) {
	if connection, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = connection.Close() // that is all that is left to do
		return
	}
	panic(http.ErrAbortHandler) //nolint:forbidigo // makes net/http reset a stream
}

// lostAnswer discards an answer.
type lostAnswer struct{ header http.Header }

// Header implements [http.ResponseWriter].
func (l *lostAnswer) Header() http.Header { return l.header }

// Write implements [http.ResponseWriter].
func (l *lostAnswer) Write(p []byte) (int, error) { return len(p), nil }

// WriteHeader implements [http.ResponseWriter].
func (l *lostAnswer) WriteHeader(int) {}
