package semelhttp

import (
	"net/http"
	"runtime"
)

// The layers inside of the door whose server errors say nothing about the work.
const (
	layerRecovered = "a layer inside recovered a panic"
	layerTimedOut  = "a layer inside did not wait for the handler"
)

// doorFrame calls the handler.
const doorFrame = "github.com/semel-dev/semel/semelhttp.(*exchange).execute"

// maxFrames bounds how far the stack is read. What answers for a panic is near its top: it runs on top of it.
const maxFrames = 96

// layer finds the layer inside of the door that is writing a server error in place of the handler, or returns "".
// A deferred function that has recovered a panic still runs on top of it. net/http's TimeoutHandler writes for
// handlers that it waits for no longer, and for those that answered or panicked inside of it, alike.
func layer() string {
	var counters [maxFrames]uintptr
	frames := runtime.CallersFrames(counters[:runtime.Callers(2, counters[:])])
	for {
		frame, more := frames.Next()
		switch frame.Function {
		case "runtime.gopanic":
			return layerRecovered
		case "net/http.(*timeoutHandler).ServeHTTP":
			return layerTimedOut
		case doorFrame:
			return ""
		}
		if !more {
			return ""
		}
	}
}

// failing looks at the layer that is writing a server error. It may be a second word, after the handler's own.
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
