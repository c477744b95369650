package stage

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
	// maxSubmissionBytes bounds how much of a request an impaired network buffers.
	maxSubmissionBytes = 2 << 20
	// maxDelay bounds the delay of a network; defaultDelay is used without a value.
	maxDelay     = 10 * time.Second
	defaultDelay = 1500 * time.Millisecond
	// travelTime bounds a request after its client has gone.
	travelTime = time.Minute
	// maxCut bounds the remembered submissions that a browser is about to resend.
	maxCut = 64
)

// condition is the effect of a network on requests that may change something.
type condition string

const (
	netNormal      condition = "normal"       // forwards everything
	netDelay       condition = "delay"        // forwards it later
	netLoseAnswer  condition = "lose-answer"  // forwards it, and cuts the answer
	netDropRequest condition = "drop-request" // cuts the answer, and forwards nothing
	netCloseReused condition = "close-reused" // forwards it, and closes a reused connection without an answer
	netLoseInside  condition = "lose-inside"  // forwards it, and cuts the answer between the application and its gateway
)

// conditions returns the possible settings of a copy, in the order of the page.
func conditions(gated bool) []condition {
	all := []condition{netNormal, netDelay, netLoseAnswer, netDropRequest, netCloseReused}
	if gated {
		all = append(all, netLoseInside)
	}
	return all
}

// weather is the setting of a network.
type weather struct {
	condition condition
	delay     time.Duration // for netDelay
}

var errWeather = errors.New("invalid network setting")

// check rejects a setting that the copy does not have.
func (w weather) check(gated bool) error {
	if all := conditions(gated); !slices.Contains(all, w.condition) {
		return fmt.Errorf("%w: %q must be one of %v", errWeather, w.condition, all)
	}
	if w.delay < 0 || w.delay > maxDelay {
		return fmt.Errorf("%w: a delay must be between 0 and %d ms", errWeather, maxDelay.Milliseconds())
	}
	return nil
}

// network is a proxy between browsers and one copy that can be impaired. Its server calls nameConnection for every
// connection. newNetwork makes one.
type network struct {
	ended chan struct{} // closed by end
	moved news          // of the setting

	mu     sync.Mutex // guards the fields below
	now    weather
	resent int
	cut    map[[sha256.Size]byte]bool // submissions that a browser resends on its own
}

// newNetwork returns a normal network. Call end once.
func newNetwork() *network { return &network{ended: make(chan struct{})} }

// end releases all waiting requests.
func (n *network) end() { close(n.ended) }

// set changes the setting for new requests; delayed ones continue. The caller has checked it.
func (n *network) set(w weather) {
	n.mu.Lock()
	n.now, n.cut = w, nil
	n.mu.Unlock()
	n.moved.notify()
}

// forget resets the network to normal and its count to zero.
func (n *network) forget() {
	n.set(weather{})
	n.mu.Lock()
	defer n.mu.Unlock()
	n.resent = 0
}

// look returns the setting, and how many requests a browser resent on its own.
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
		if reads(r) || now.condition == netNormal || now.condition == netLoseInside {
			next.ServeHTTP(w, r)
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxSubmissionBytes))
		if err != nil {
			http.Error(w, "the network lost the request: "+err.Error(), http.StatusBadRequest)
			return
		}
		// A request that was sent arrives, even if the browser stops waiting.
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
		case now.condition == netCloseReused && !n.isResent(digestOf(sent, body), reused):
			next.ServeHTTP(&nowhere{header: http.Header{}}, sent)
			panic(http.ErrAbortHandler) //nolint:forbidigo // net/http closes the connection without an answer.
		default:
			next.ServeHTTP(w, sent)
		}
	})
}

// inside returns the handler with the part of this network before it that is behind the copy's gateway.
func (n *network) inside(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if now, _ := n.look(); reads(r) || now.condition != netLoseInside {
			next.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(&nowhere{header: http.Header{}}, r)
		breakOff(w)
	})
}

// breakOff closes the connection after the first byte of the answer. Without any, Chromium resends the request on its
// own, even on a connection that it had opened ahead of time.
func breakOff(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) //nolint:forbidigo // as above.
	}
	_, _ = conn.Write([]byte("H")) // it may already be gone
	_ = conn.Close()               // as above
}

// wait reports whether the request may continue: the time passed, or the setting changed, before the demo ended.
func (n *network) wait(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-n.moved.listen():
		return true
	case <-n.ended:
		return false
	}
}

// isResent reports whether the request is to be answered: because it is the second one of a browser that lost its
// connection, which is counted, or because the connection is new, so that the browser would not resend it.
func (n *network) isResent(digest [sha256.Size]byte, reused bool) bool {
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

// digestOf identifies a request that a browser resends.
func digestOf(r *http.Request, body []byte) [sha256.Size]byte {
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%s %s\n%q\n", r.Method, r.RequestURI, r.Header["Cookie"]) // a hash takes everything
	_, _ = h.Write(body)
	return [sha256.Size]byte(h.Sum(nil))
}

// reads reports whether the request changes nothing.
func reads(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

// nowhere discards an answer.
type nowhere struct{ header http.Header }

var _ http.ResponseWriter = (*nowhere)(nil)

// Header implements [http.ResponseWriter].
func (n *nowhere) Header() http.Header { return n.header }

// WriteHeader implements [http.ResponseWriter]; the status is dropped.
func (n *nowhere) WriteHeader(int) {}

// Write implements [http.ResponseWriter]; the bytes are dropped.
func (n *nowhere) Write(p []byte) (int, error) { return len(p), nil }

type connectionKey struct{}

// nameConnection lets usedBefore count the requests of a connection.
func nameConnection(ctx context.Context, _ net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, new(atomic.Int64))
}

// usedBefore reports whether an earlier request used this connection. Call it once per request.
func usedBefore(ctx context.Context) bool {
	count, ok := ctx.Value(connectionKey{}).(*atomic.Int64)
	return ok && count.Add(1) > 1
}
