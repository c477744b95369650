package adopt

import (
	"bufio"
	"net"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/semelhttp"
)

// Gin makes the door a middleware of Gin.
func Gin(door *semelhttp.Middleware) gin.HandlerFunc {
	return func(c *gin.Context) {
		outer, request, ran := c.Writer, c.Request, false
		defer func() { c.Writer, c.Request = outer, request }()
		door.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ran = true
			c.Writer, c.Request = &ginWriter{ResponseWriter: outer, live: w, status: http.StatusOK, size: -1}, r
			c.Next()
			if c.IsAborted() && !c.Writer.Written() && len(c.Errors) > 0 { // gin.Recovery writes nothing after a panic about a broken connection
				semelhttp.Dispose(r.Context(), semel.StateUnknown, c.Errors.Last().Error())
			}
			c.Writer.WriteHeaderNow()
		})).ServeHTTP(outer, request)
		if !ran {
			c.Abort() // replayed or refused
		}
	}
}

// ginWriter is the door's writer as Gin wants one.
type ginWriter struct {
	gin.ResponseWriter // what Gin had; everything that writes is replaced

	live   http.ResponseWriter
	status int
	size   int // -1 until the header is written
}

// Header implements http.ResponseWriter.
func (w *ginWriter) Header() http.Header { return w.live.Header() }

// WriteHeader notes the status, as Gin's own writer does.
func (w *ginWriter) WriteHeader(status int) {
	if status > 0 && !w.Written() {
		w.status = status
	}
}

// WriteHeaderNow implements gin.ResponseWriter.
func (w *ginWriter) WriteHeaderNow() {
	if !w.Written() {
		w.size = 0
		w.live.WriteHeader(w.status)
	}
}

// Write implements io.Writer.
func (w *ginWriter) Write(p []byte) (int, error) {
	w.WriteHeaderNow()
	n, err := w.live.Write(p)
	w.size += n
	return n, err
}

// WriteString implements io.StringWriter.
func (w *ginWriter) WriteString(s string) (int, error) { return w.Write([]byte(s)) }

// Status implements gin.ResponseWriter.
func (w *ginWriter) Status() int { return w.status }

// Size implements gin.ResponseWriter.
func (w *ginWriter) Size() int { return w.size }

// Written implements gin.ResponseWriter.
func (w *ginWriter) Written() bool { return w.size >= 0 }

// Flush implements http.Flusher.
func (w *ginWriter) Flush() {
	w.WriteHeaderNow()
	_ = http.NewResponseController(w.live).Flush()
}

// Hijack implements http.Hijacker.
func (w *ginWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	w.size = max(w.size, 0)
	return http.NewResponseController(w.live).Hijack()
}

// CloseNotify never notifies: the client's going away does not end the work.
func (w *ginWriter) CloseNotify() <-chan bool { return make(chan bool, 1) }

// Pusher says that there is none.
func (w *ginWriter) Pusher() http.Pusher { return nil }

// Unwrap is for http.ResponseController.
func (w *ginWriter) Unwrap() http.ResponseWriter { return w.live }
