package semelhttp

import (
	"net/http"
	"runtime"
	"strings"
)

// The layers inside of the door whose server errors say nothing about the work.
const (
	layerRecovered = "a layer inside recovered a panic"
	layerTimedOut  = "a layer inside did not wait for the handler"
)

// doorFrame calls the handler.
const doorFrame = "github.com/semel-dev/semel/semelhttp.(*exchange).execute"

const (
	// framesAtOnce is more than most stacks have between the door and an answer.
	framesAtOnce = 96
	// maxFrames bounds how far the stack is read.
	maxFrames = 16 * framesAtOnce
)

// layer finds the layer inside of the door that is writing a server error in place of the handler, or returns "".
// A deferred function that has recovered a panic still runs on top of it, however much code writes its page. net/http's
// TimeoutHandler writes for handlers that it waits for no longer, and for those that answered or panicked inside of it, alike;
// its copies, such as go-zero's, are called like it.
func layer() string {
	var counters [framesAtOnce]uintptr
	for skipped := 0; skipped < maxFrames; skipped += framesAtOnce {
		n := runtime.Callers(2+skipped, counters[:])
		frames := runtime.CallersFrames(counters[:n])
		for more := n > 0; more; {
			var frame runtime.Frame
			frame, more = frames.Next()
			switch {
			case frame.Function == "runtime.gopanic":
				return layerRecovered
			case strings.HasSuffix(frame.Function, ".(*timeoutHandler).ServeHTTP"):
				return layerTimedOut
			case frame.Function == doorFrame:
				return ""
			}
		}
		if n < framesAtOnce {
			break
		}
	}
	return ""
}

// failing looks at the layer that is writing a server error, or any answer to a transaction. It may be a second word, after the handler's own.
func (c *capture) failing(status int) {
	if c.layer == "" {
		c.layer = layer()
	}
	switch {
	case c.mode != buffering || c.status == 0:
	case c.layer == layerRecovered && c.status < http.StatusInternalServerError:
		c.restart()
	case c.layer == "" && lostAnswer(status, nil): // the handler's word came from work that was cut off
		c.layer = layerTimedOut
	}
}

// restart forgets an answer that a panic broke off, for the answer of the layer that recovered it. Fields of the header
// that the layer did not set go with it.
func (c *capture) restart() {
	header, s := c.under.Header(), c.mem
	for _, f := range s.sent {
		if !identical(header[f.name], f.values) {
			continue
		}
		delete(header, f.name)
		if i := index(s.outer, f.name); i >= 0 {
			header[f.name] = s.outer[i].values
		}
	}
	s.sent = s.sent[:0]
	c.leaveChunks(false)
	c.status = 0
}
