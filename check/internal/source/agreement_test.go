package source_test

import (
	"bytes"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/check/internal/source"
	"github.com/semel-dev/semel/check/wire"
	"github.com/semel-dev/semel/internal/testserver"
)

// TestCurlAgreesWithCurl runs the real curl in a real shell, and compares the received request with the one that is
// read from the same line.
func TestCurlAgreesWithCurl(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"bash", "curl"} {
		if _, err := exec.LookPath(program); err != nil {
			testserver.Missing(t, program, "apt-get install "+program)
		}
	}
	for _, line := range []string{
		`curl URL/a`,
		`curl -X PATCH "URL/a?b=c&d=e" -d f=g -d h`,
		`curl URL/a -d $'it\'s \u00e9\x41\n\t\101\cA\q\e' --data-raw @x`,
		`curl URL/a --data-urlencode 'a=b c&d+e' --data-urlencode '=f=g' --data-urlencode 'ö' --data-urlencode h@/etc/hostname`,
		`curl -G URL/a?x=1 -d b=c --data-urlencode "d= e"`,
		`curl URL --json '{"a":' --json '"b"}' -H 'X-A:  b  '`,
		`curl URL/a --json '{}' -H 'Content-Type: application/x' -H Accept:`,
		`curl URL/a -u 'joe:p:w' -b 'a=b; c=d' -A me -e 'http://x/;auto' -H 'X-Empty;'`,
		`curl -sSXPUT -d'a b' URL/a -H"X-B: \"q\" \\ \$x \` + "`" + `y"`,
		"curl URL/a \\\n  -d 'a\nb' \\\n  -H 'X-C: d' # comment",
		"curl -d @- URL/a <<EOF\na \\$b \\\"c\\\"\n d\\\ne\nEOF\n",
		"curl --data-binary @- URL/a <<'EOF'\na $b\n\nEOF\n",
		`curl --data-binary @- URL/a <<< "a  b"`,
		`curl --data-binary @- URL/a < /etc/hostname`,
		`curl -T - URL/a <<< x`,
		`curl -F 'a=b;type=text/plain; charset=utf-8;filename=x' -F 'c=d; e' -F '=f' -F 'g=<-' --form-string 'h=@i;type=x' URL/a <<< x`,
		`curl -F 'f=@/etc/hostname' -F 'g=@"/etc/hostname";filename="a \"b\".txt";type=x/y' URL/a`,
		`curl -F 'a=b' -H 'Content-Type: multipart/form-data; charset=x' URL/a`,
		`curl -F 'a="b;c";type=x/y' -F 'd="e"f' URL/a`,
		`curl URL/a --url-query 'a=b c' --url-query '+d=%20' -d x`,
		`curl URL/a#fragment -d x`,
		`curl --oauth2-bearer token URL/a -r 0-9`,
		`curl -d a -d '' -d b URL/a`,
		`A=b curl URL/a -d "a"'b'c\ d > /dev/null 2>&1`,
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			arrived := make(chan string, 1)
			server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				arrived <- told(r, body)
			}))
			t.Cleanup(server.Close)
			line := strings.ReplaceAll(line, "URL", server.URL)
			if output, err := exec.CommandContext(t.Context(), "bash", "-c", "export LC_ALL=C.UTF-8\n"+line).CombinedOutput(); err != nil {
				if strings.Contains(string(output), "is unknown") {
					t.Skipf("SKIPPED: this curl is too old: %s", output)
				}
				t.Fatalf("curl: %v: %s", err, output)
			}
			want := <-arrived
			r, err := source.Curl(line)
			if err != nil {
				t.Fatal(err)
			}
			send(t, &r.Template)
			if diff := cmp.Diff(want, <-arrived); diff != "" {
				t.Errorf("(-curl +ours):\n%s", diff)
			}
		})
	}
}

// send sends the template as the checks do.
func send(t *testing.T, template *check.Template) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), template.Method, template.URL, bytes.NewReader(template.Body))
	if err != nil {
		t.Fatal(err)
	}
	client := wire.Client{}
	if _, err := client.Do(t.Context(), &wire.Request{Method: template.Method, URL: r.URL, Header: template.Header, Body: template.Body}, nil); err != nil {
		t.Fatal(err)
	}
}

// told returns the received request, without the parts of a client or a connection.
func told(r *http.Request, body []byte) string {
	header := r.Header.Clone()
	for _, name := range []string{"Content-Length", "Connection", "Expect", "Accept-Encoding"} {
		header.Del(name)
	}
	if agent := header.Get("User-Agent"); agent == "semel-check" || strings.HasPrefix(agent, "curl/") {
		header.Del("User-Agent")
	}
	text := string(body)
	if _, params, err := mime.ParseMediaType(header.Get("Content-Type")); err == nil && params["boundary"] != "" {
		text = strings.ReplaceAll(text, params["boundary"], "BOUNDARY")
		header.Set("Content-Type", strings.ReplaceAll(header.Get("Content-Type"), params["boundary"], "BOUNDARY"))
	}
	var b strings.Builder
	_ = header.Write(&b)
	return r.Method + " " + r.RequestURI + "\n" + b.String() + "\n" + text
}
