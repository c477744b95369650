package semelhttp

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/semel-dev/semel/internal/waiting"
)

// TestBufferFitsItsBody (promise 8): a body does not hold the buffer of one that was far longer, which it would not be counted for.
func TestBufferFitsItsBody(t *testing.T) {
	t.Parallel()
	m := &Middleware{}
	m.set.MaxBodyBytes, m.set.SpoolBytes = 8<<20, 4<<20
	m.set.captured = &waiting.Bytes{Bodies: &waiting.Bytes{Most: 32 << 20}}
	for _, size := range []int{4 << 20, 600 << 10} {
		ex := m.newExchange(httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", bytes.NewReader(make([]byte, size))))
		if n, err := ex.body.Len(); n != int64(size) || err != nil || cap(ex.body.mem) > 4*size {
			t.Errorf("%d of %d bytes, error %v, in a buffer of %d", n, size, err, cap(ex.body.mem))
		}
		ex.free()
	}
}
