package wire_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/check/wire"
	"github.com/semel-dev/semel/internal/testserver"
)

// byteRange returns all bytes except those that a command line or a header cannot contain.
func byteRange(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		b.WriteByte(byte(i))
	}
	return b.String()
}

// TestQuoteSurvivesTheShell: a shell reads a quoted text unchanged, whatever its bytes.
func TestQuoteSurvivesTheShell(t *testing.T) {
	t.Parallel()
	shell, err := exec.LookPath("bash")
	if err != nil {
		testserver.Missing(t, "bash", "apt-get install bash")
	}
	for _, text := range []string{
		"", "plain", "it's", `back\slash`, "$HOME `id` $(id)", "new\nline", "tab\tcr\r", "\x1b[2J", "Zoë 订单", "é\xff9",
		"a!b", byteRange(1, 255), "\u202e", "12\x019",
	} {
		got, err := exec.CommandContext(t.Context(), shell, "-c", "printf %s "+wire.Quote(text)).Output()
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if diff := cmp.Diff(text, string(got)); diff != "" {
			t.Errorf("%s:\n%s", wire.Quote(text), diff)
		}
		if strings.ContainsAny(wire.Quote(text), "\x1b\n\u202e") {
			t.Errorf("%q would take over a terminal", wire.Quote(text))
		}
	}
}

// TestCurlSendsTheSame: the command sends the same request as this package's client.
func TestCurlSendsTheSame(t *testing.T) {
	t.Parallel()
	shell, err := exec.LookPath("bash")
	if err == nil {
		_, err = exec.LookPath("curl")
	}
	if err != nil {
		testserver.Missing(t, "curl", "apt-get install curl")
	}
	got := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- fmt.Sprintf("%s %s %q %q %q", r.Method, r.RequestURI, r.Header["Idempotency-Key"], r.Header["Content-Type"], body)
	}))
	t.Cleanup(server.Close)
	for _, body := range []string{"", "a=1&b=2", "@/etc/hostname", `{"n": "it's"}`, byteRange(1, 255), byteRange(0, 255) + "\n%s"} {
		at, err := url.Parse(server.URL + "/a/../b?x=[1]&y={2}")
		if err != nil {
			t.Fatal(err)
		}
		r := &wire.Request{Method: "POST", URL: at, Body: []byte(body), Header: []wire.Field{
			{Name: "Idempotency-Key", Value: `"a\"b'c"`}, {Name: "Idempotency-Key", Value: ""},
		}}
		client := wire.Client{}
		if _, err := client.Do(t.Context(), r, nil); err != nil {
			t.Fatal(err)
		}
		want := <-got
		command := wire.Curl(r, nil)
		if out, err := exec.CommandContext(t.Context(), shell, "-c", command).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
		if diff := cmp.Diff(want, <-got); diff != "" {
			t.Errorf("%s\n%s", command, diff)
		}
	}
}

func TestCurlSaysWhatItCannotDo(t *testing.T) {
	t.Parallel()
	at := &url.URL{Scheme: "http", Host: "shop.example", Path: "/orders"}
	r := &wire.Request{Method: "POST", URL: at, Body: []byte(`{"password":"***"}`), Header: []wire.Field{
		{Name: "Authorization", Value: wire.Hidden}, {Name: "X-Api-Key", Value: wire.Hidden}, {Name: "Content-Type", Value: "application/json"},
	}}
	for fault, want := range map[wire.Fault]string{
		wire.CutInHead: "# close the connection before", wire.CutInBody: "# close the connection in the middle of the body",
		wire.HangUp: "# close the connection as soon as", wire.LoseAnswer: "# the service answers completely",
		wire.CutInAnswer: "# close the connection at the first piece", wire.None: "# *** replaces a secret",
	} {
		if got := wire.Curl(r, &wire.Manner{Fault: fault}); !strings.Contains(got, want) {
			t.Errorf("%q: got %s, want %s", fault, got, want)
		}
	}
	got := wire.Curl(r, &wire.Manner{Chunked: true, Expect: true, Timeout: 1500 * time.Millisecond, Pieces: 3, Pause: time.Second})
	want := `# send the body in 3 pieces, with 1s between them (about: --limit-rate)
# *** replaces a secret
curl --http1.1 --globoff --path-as-is -X 'POST' --max-time 1.5 \
  -H "Authorization: $AUTHORIZATION" \
  -H "X-Api-Key: $X_API_KEY" \
  -H 'Content-Type: application/json' \
  -H 'Transfer-Encoding: chunked' \
  -H 'Expect: 100-continue' \
  --data-raw '{"password":"***"}' \
  'http://shop.example/orders'`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	lines := bufio.NewScanner(strings.NewReader(wire.Curl(&wire.Request{Method: "HEAD", URL: at}, nil)))
	lines.Scan()
	if got := lines.Text(); !strings.Contains(got, "--head") {
		t.Errorf("HEAD: %s", got)
	}
}
