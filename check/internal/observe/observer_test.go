package observe_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/semel-dev/semel/check/internal/observe"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, upstream string) *observe.Observer {
	t.Helper()
	s, err := observe.Open(t.Context(), "127.0.0.1:0", upstream)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// call is a request of the service; it returns status and body.
func call(t *testing.T, s *observe.Observer, method, path, body string, header ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://"+s.Address()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

func counted(t *testing.T, s *observe.Observer, want int64) {
	t.Helper()
	if got, err := s.Count(t.Context(), nil); err != nil || got != want {
		t.Errorf("counted %d, %v, want %d", got, err, want)
	}
}

func TestObserverPassesOnAndCounts(t *testing.T) {
	t.Parallel()
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Upstream", "yes")
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, r.Method+" "+r.URL.RequestURI()+" "+r.Header.Get("Idempotency-Key")+" "+r.Header.Get("X-Forwarded-For")+" "+string(body))
	}))
	t.Cleanup(upstream.Close)
	s := open(t, upstream.URL+"/base")
	status, text := call(t, s, "POST", "/mail/send?to=a%20b", "hello", "Idempotency-Key", "k", "X-Forwarded-For", "1.2.3.4")
	if status != http.StatusAccepted || text != "POST /base/mail/send?to=a%20b k 1.2.3.4 hello" {
		t.Errorf("the answer is %d %s", status, text)
	}
	call(t, s, "GET", "/mail", "")
	call(t, s, "DELETE", "/mail/1", "")
	counted(t, s, 2)
}

func TestObserverFailsOnDemand(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	s.FailNext(2, http.StatusTooManyRequests)
	if status, _ := call(t, s, "GET", "/", ""); status != http.StatusOK {
		t.Errorf("a look is answered %d", status)
	}
	var got []int
	for range 3 {
		status, _ := call(t, s, "POST", "/", "x")
		got = append(got, status, s.Pending())
	}
	if diff := cmp.Diff([]int{429, 1, 429, 0, 201, 0}, got); diff != "" {
		t.Errorf("status and failures left (-want +got):\n%s", diff)
	}
	counted(t, s, 1)
	s.FailNext(5, 200)
	s.FailNext(1, 200)
	if status, _ := call(t, s, "POST", "/", ""); status != http.StatusServiceUnavailable || s.Pending() != 0 {
		t.Errorf("the answer is %d, and %d are to fail", status, s.Pending())
	}
	s.FailNext(5, 500)
	s.FailNext(0, 0)
	if status, text := call(t, s, "POST", "/", ""); status != http.StatusCreated || text != "{\"id\":2}\n" {
		t.Errorf("the answer is %d %s", status, text)
	}
}

// TestObserverDoesNotCountWhatCouldNotArrive: a call that did not reach the upstream is not an effect.
func TestObserverDoesNotCountWhatCouldNotArrive(t *testing.T) {
	t.Parallel()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := listener.Addr().String()
	_ = listener.Close()
	s := open(t, "http://"+closed)
	if status, _ := call(t, s, "POST", "/", ""); status != http.StatusBadGateway {
		t.Errorf("the answer is %d", status)
	}
	counted(t, s, 0)
}

// TestObserverSendsOnce: a call whose connection is lost is not sent again, and may have had an effect.
func TestObserverSendsOnce(t *testing.T) {
	t.Parallel()
	var came atomic.Int64
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			return
		}
		came.Add(1)
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_ = conn.Close()
	}))
	t.Cleanup(upstream.Close)
	s := open(t, upstream.URL)
	for range 5 {
		call(t, s, "GET", "/", "") // would leave a connection for reuse
		if status, _ := call(t, s, "POST", "/", "", "Idempotency-Key", "k"); status != http.StatusBadGateway {
			t.Errorf("the answer is %d", status)
		}
	}
	if came.Load() != 5 {
		t.Errorf("5 calls came %d times", came.Load())
	}
	counted(t, s, 5)
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	busy := open(t, "")
	for _, test := range []struct{ listen, upstream, words string }{
		{busy.Address(), "", "listen for the service's calls"},
		{"127.0.0.1:0", "localhost:9001", "write it as http://host:port"},
		{"127.0.0.1:0", "http://", "write it as http://host:port"},
	} {
		if _, err := observe.Open(t.Context(), test.listen, test.upstream); err == nil || !strings.Contains(err.Error(), test.words) {
			t.Errorf("open %s=%s: %v, want %q", test.listen, test.upstream, err, test.words)
		}
	}
	if listen, upstream := observe.Split(":9000=http://h/?a=b"); listen != ":9000" || upstream != "http://h/?a=b" {
		t.Errorf("split: %s and %s", listen, upstream)
	}
}
