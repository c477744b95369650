package demo

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxSubmissionBytes bounds what a network that is not in order keeps of one request.
	maxSubmissionBytes = 2 << 20
	// maxDelay bounds how slow a network can be, and defaultDelay is how slow it is when nobody says.
	maxDelay     = 10 * time.Second
	defaultDelay = 1500 * time.Millisecond
	// travelTime bounds what a request may take that nobody waits for any more.
	travelTime = time.Minute
	// maxCut bounds how many submissions are remembered that a browser is about to send again.
	maxCut = 64
)

// condition is what a network does to the requests that may change something.
type condition string

const (
	netNormal      condition = "normal"       // passes everything on
	netDelay       condition = "delay"        // passes it on later
	netLoseAnswer  condition = "lose-answer"  // passes it on, and breaks the answer off
	netDropRequest condition = "drop-request" // breaks the answer off, and passes nothing on
	netCloseReused condition = "close-reused" // passes it on, and closes a connection that was used before without an answer
)

// conditions are all that a network may be set to, in the order of the page.
func conditions() []condition {
	return []condition{netNormal, netDelay, netLoseAnswer, netDropRequest, netCloseReused}
}

// weather is how a network is set.
type weather struct {
	condition condition
	delay     time.Duration // for netDelay
}

var errWeather = errors.New("no such network")

// check refuses what no network can be set to.
func (w weather) check() error {
	if !slices.Contains(conditions(), w.condition) {
		return fmt.Errorf("%w: %q is none of %v", errWeather, w.condition, conditions())
	}
	if w.delay < 0 || w.delay > maxDelay {
		return fmt.Errorf("%w: a delay is between 0 and %d ms", errWeather, maxDelay.Milliseconds())
	}
	return nil
}

// network stands between browsers and one copy, and can be made bad. Its
// server calls nameConnection for every connection. newNetwork makes one.
type network struct {
	ended chan struct{} // closed by end

	mu     sync.Mutex // guards the fields below
	now    weather
	moved  chan struct{} // closed when the network is set anew, if somebody waits for it
	resent int
	cut    map[[sha256.Size]byte]bool // submissions that a browser sends again by itself
}

// newNetwork returns a network that is in order. Call end once.
func newNetwork() *network { return &network{ended: make(chan struct{})} }

// end lets nobody wait any longer.
func (n *network) end() { close(n.ended) }

// set changes what happens to requests that come from now on; those that are
// being delayed go on. The weather has been checked.
func (n *network) set(w weather) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.now, n.cut = w, nil
	if n.moved != nil {
		close(n.moved)
		n.moved = nil
	}
}

// untilSet returns what is closed when the network is set anew.
func (n *network) untilSet() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.moved == nil {
		n.moved = make(chan struct{})
	}
	return n.moved
}

// forget makes the network normal again and its count zero.
func (n *network) forget() {
	n.set(weather{})
	n.mu.Lock()
	defer n.mu.Unlock()
	n.resent = 0
}

// look returns how the network is set, and how many requests a browser sent
// again by itself.
func (n *network) look() (weather, int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	w := n.now
	if w.condition == "" {
		w = weather{condition: netNormal, delay: defaultDelay}
	}
	return w, n.resent
}

// around returns the handler with this network in front of it.
func (n *network) around(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reused := usedBefore(r.Context())
		now, _ := n.look()
		if reads(r) || now.condition == netNormal {
			next.ServeHTTP(w, r)
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxSubmissionBytes))
		if err != nil {
			http.Error(w, "the network lost the request: "+err.Error(), http.StatusBadRequest)
			return
		}
		// What was sent arrives, even when the browser stops waiting.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), travelTime)
		defer cancel()
		sent := r.WithContext(ctx)
		sent.Body = io.NopCloser(bytes.NewReader(body))
		switch {
		case now.condition == netDropRequest, now.condition == netDelay && !n.wait(now.delay):
			breakOff(w)
		case now.condition == netLoseAnswer:
			next.ServeHTTP(&nowhere{header: http.Header{}}, sent)
			breakOff(w)
		case now.condition == netCloseReused && !n.comesAgain(digestOf(sent, body), reused):
			next.ServeHTTP(&nowhere{header: http.Header{}}, sent)
			panic(http.ErrAbortHandler) //nolint:forbidigo // net/http closes the connection without an answer.
		default:
			next.ServeHTTP(w, sent)
		}
	})
}

// breakOff closes the connection after the first byte of the answer. After
// none at all, Chromium sends the request again by itself, also on a
// connection that it had opened ahead of time.
func breakOff(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) //nolint:forbidigo // as above.
	}
	_, _ = conn.Write([]byte("H")) // it may be gone already
	_ = conn.Close()               // as above
}

// wait reports whether the request may go on: the time passed, or the network
// was set anew, before the demo ended.
func (n *network) wait(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-n.untilSet():
		return true
	case <-n.ended:
		return false
	}
}

// comesAgain reports whether the request is to be answered: because it is the
// second one of a browser that lost its connection, which is counted, or
// because the connection is new, so that the browser would not send it again.
func (n *network) comesAgain(digest [sha256.Size]byte, reused bool) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cut[digest] {
		delete(n.cut, digest)
		n.resent++
		return true
	}
	if !reused || len(n.cut) >= maxCut {
		return true
	}
	if n.cut == nil {
		n.cut = map[[sha256.Size]byte]bool{}
	}
	n.cut[digest] = true
	return false
}

// digestOf tells whether a browser sends the very same request again.
func digestOf(r *http.Request, body []byte) [sha256.Size]byte {
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%s %s\n%q\n", r.Method, r.RequestURI, r.Header["Cookie"]) // a hash takes everything
	_, _ = h.Write(body)
	return [sha256.Size]byte(h.Sum(nil))
}

// reads reports whether the request changes nothing.
func reads(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

// nowhere is where an answer goes that nobody gets.
type nowhere struct{ header http.Header }

var _ http.ResponseWriter = (*nowhere)(nil)

// Header implements [http.ResponseWriter].
func (n *nowhere) Header() http.Header { return n.header }

// WriteHeader implements [http.ResponseWriter]; the status is dropped.
func (n *nowhere) WriteHeader(int) {}

// Write implements [http.ResponseWriter]; the bytes are dropped.
func (n *nowhere) Write(p []byte) (int, error) { return len(p), nil }

type connectionKey struct{}

// nameConnection lets usedBefore count what comes on the connection.
func nameConnection(ctx context.Context, _ net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, new(atomic.Int64))
}

// usedBefore reports whether another request came on this connection. It is
// asked once for every request.
func usedBefore(ctx context.Context) bool {
	count, ok := ctx.Value(connectionKey{}).(*atomic.Int64)
	return ok && count.Add(1) > 1
}
