package source_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/check/internal/source"
	"github.com/semel-dev/semel/check/wire"
)

func TestCurl(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ line, want string }{
		"a README": {
			`$ curl -X POST https://api.example.com/v1/charges \
  -u sk_test_4eC39HqLyjWDarjtT1zdp7dc: \
  -H "Idempotency-Key: AGJ6FJMkGQIpHUTX" \
  -d amount=2000 \
  -d currency=usd \
  --data-urlencode "description=My First & Test"`,
			"POST https://api.example.com/v1/charges\n" +
				"Authorization: Basic c2tfdGVzdF80ZUMzOUhxTHlqV0Rhcmp0VDF6ZHA3ZGM6\n" +
				"Content-Type: application/x-www-form-urlencoded\n\n" +
				"amount=2000&currency=usd&description=My+First+%26+Test",
		},
		"Chromium, bash": {
			`curl 'https://shop.example.com/api/orders?lang=sv' \
  -H 'accept: application/json, text/plain, */*' \
  -H 'accept-language: sv-SE,sv;q=0.9' \
  -H 'content-type: application/json' \
  -b 'session=abc; theme=dark' \
  -H 'user-agent: Mozilla/5.0' \
  --data-raw $'{"name":"It\'s \u0021","n":1}' \
  --compressed`,
			"POST https://shop.example.com/api/orders?lang=sv\naccept: application/json, text/plain, */*\n" +
				"accept-language: sv-SE,sv;q=0.9\ncontent-type: application/json\nuser-agent: Mozilla/5.0\n" +
				"Cookie: session=abc; theme=dark\n\n" + `{"name":"It's !","n":1}`,
		},
		"Chromium, command prompt": {
			"curl ^\"https://shop.example.com/api/orders?a=1^&b=2^\" ^\r\n" +
				"  -H ^\"accept: */*^\" ^\r\n" +
				"  -H ^\"content-type: application/json^\" ^\r\n" +
				"  --data-raw ^\"^{^\\^\"name^\\^\":^\\^\"50^%^ off^\\^\",^\\^\"path^\\^\":^\\^\"C:^\\^\\^\\^\\x^\\^\"^}^\"",
			"POST https://shop.example.com/api/orders?a=1&b=2\naccept: */*\ncontent-type: application/json\n\n" +
				`{"name":"50% off","path":"C:\\x"}`,
		},
		"command prompt, two lines in the body": {
			"curl ^\"http://localhost/^\" --data-raw ^\"a 'c^\n\nb^\"",
			"POST http://localhost/\nContent-Type: application/x-www-form-urlencoded\n\na 'c\nb",
		},
		"Firefox, command prompt": {
			"curl \"http://localhost:8080/orders\" --compressed -X POST -H \"Accept: a/b\" ^\n -H \"Content-Type: application/json\" --data-raw \"{\"\"a\"\":1}\"",
			"POST http://localhost:8080/orders\nAccept: a/b\nContent-Type: application/json\n\n{\"a\":1}",
		},
		"no scheme, JSON": {
			`curl localhost:8080/invoices --json '{"n":{{n}},' --json '"id":"{{uuid}}"}'`,
			"POST http://localhost:8080/invoices\nContent-Type: application/json\nAccept: application/json\n\n" + `{"n":{{n}},"id":"{{uuid}}"}`,
		},
		"here-document": {
			"curl -sS -d @- -H 'Content-Type: application/json' http://localhost/x <<'EOF' | jq .\n{\"a\": \"$b\"}\nEOF\n",
			"POST http://localhost/x\nContent-Type: application/json\n\n" + `{"a": "$b"}`,
		},
		"here-string": {
			`curl --data-binary @- http://localhost/x <<< "a b"`,
			"POST http://localhost/x\nContent-Type: application/x-www-form-urlencoded\n\na b\n",
		},
		"-G": {
			`curl -G http://localhost/x?a=1 -d b=2 --data-urlencode 'c=d e{{uuid}}'`,
			"GET http://localhost/x?a=1&b=2&c=d+e{{uuid}}",
		},
		"short options in one word": {
			`curl -sSXPUT -HX-A:1 -da=b http://localhost/x`,
			"PUT http://localhost/x\nX-A: 1\nContent-Type: application/x-www-form-urlencoded\n\na=b",
		},
		"headers out, empty, and from options": {
			`curl http://localhost/x -H Accept: -H 'X-Empty;' -A me/1 -e 'http://a/;auto' --oauth2-bearer t -I`,
			"HEAD http://localhost/x\nX-Empty: \nAuthorization: Bearer t\nUser-Agent: me/1\nReferer: http://a/",
		},
		"shell's variables and commands": {
			"curl \"$API/x\" -H \"Authorization: Bearer ${TOKEN}\" -d \"id=$(uuidgen | tr A-Z a-z)\" -d \"t=`date +%s`\"",
			"POST {{var:API}}/x\nAuthorization: Bearer {{var:TOKEN}}\nContent-Type: application/x-www-form-urlencoded\n\nid={{uuid}}&t={{n}}",
		},
		"a user in the URL, a fragment, and what no URL has": {
			`curl 'http://a:b%40c@localhost/x y?q=ö#part' -X DELETE`,
			"DELETE http://localhost/x%20y?q=%C3%B6\nAuthorization: Basic YTpiQGM=",
		},
		"what follows is not the request": {
			"TOKEN=x curl -o /dev/null http://localhost/a -d b 2>/dev/null > out.txt && echo done",
			"POST http://localhost/a\nContent-Type: application/x-www-form-urlencoded\n\nb",
		},
		"escapes of $'": {
			`curl http://localhost/ --data-raw $'\x41\102\u00e9\n\t\\\'\cA\q'`,
			"POST http://localhost/\nContent-Type: application/x-www-form-urlencoded\n\nAB\u00e9\n\t\\'\x01\\q",
		},
		"carets in a body for a shell": {
			"curl http://localhost/x --data-raw '{\"pattern\": ^\n \"^\", \"b\": \"a ^\"}'",
			"POST http://localhost/x\nContent-Type: application/x-www-form-urlencoded\n\n{\"pattern\": ^\n \"^\", \"b\": \"a ^\"}",
		},
		"-T": {
			`curl -T - http://localhost/x <<<hi`,
			"PUT http://localhost/x\n\nhi\n",
		},
		"a form": {
			`curl http://localhost/x -F 'name="a;b"' -F 'file=<-;type=text/x' --form-string 's=@t;type=x' <<<hi`,
			"POST http://localhost/x\nContent-Type: multipart/form-data; boundary=------------------------BOUNDARY\n\n" +
				"--------------------------BOUNDARY\r\nContent-Disposition: form-data; name=\"name\"\r\n\r\na;b\r\n" +
				"--------------------------BOUNDARY\r\nContent-Disposition: form-data; name=\"file\"\r\nContent-Type: text/x\r\n\r\nhi\n\r\n" +
				"--------------------------BOUNDARY\r\nContent-Disposition: form-data; name=\"s\"\r\n\r\n@t;type=x\r\n" +
				"--------------------------BOUNDARY--\r\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := source.Curl(c.line)
			if err == nil {
				withoutBoundary(r)
			}
			wants(t, r, err, c.want)
		})
	}
}

// withoutBoundary replaces the boundary by BOUNDARY.
func withoutBoundary(r *source.Request) {
	for i, f := range r.Template.Header {
		if _, boundary, ok := strings.Cut(f.Value, "boundary=------------------------"); ok {
			r.Template.Header[i].Value = strings.ReplaceAll(f.Value, boundary, "BOUNDARY")
			r.Template.Body = []byte(strings.ReplaceAll(string(r.Template.Body), boundary, "BOUNDARY"))
		}
	}
}

func TestCurlRefuses(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"":                                        "not a curl command",
		"wget http://localhost":                   "not a curl command",
		"curl":                                    "the URL is missing",
		"curl http://a http://b":                  "2 URLs",
		"curl http://a --frobnicate":              "unknown option --frobnicate",
		"curl http://a -sW":                       "unknown option -W",
		"curl http://a -d":                        "-d has no value",
		"curl http://a -d x --next http://b":      "--next begins another request",
		"curl http://a --digest -u a:b":           "--digest needs new credentials",
		"curl http://a -x http://p:3128":          "-x changes the way to the service",
		"curl http://a --unix-socket /run/x":      "--unix-socket changes the way to the service",
		"curl http://a -u a":                      "without a password",
		"curl http://a -u '{{var:u}}:b'":          "user and password are encoded",
		"curl http://a -b jar.txt":                "file of cookies",
		"curl http://a -H nothing":                "has no colon",
		"curl http://a -H $'A: b\\nC: d'":         "is invalid: write NAME: VALUE",
		"curl http://a -H 'a b: c'":               "is invalid: write NAME: VALUE",
		"curl http://a -X 'GET /'":                "is not an HTTP method",
		"curl http://a -d @/nowhere/at/all":       "/nowhere/at/all",
		"curl http://a -d @/dev/zero":             "is not a regular file",
		"curl http://a -d @-":                     "the command reads standard input",
		"curl http://a -d a -F b=c":               "more than one kind of body",
		"curl http://a -F b":                      "no equals sign",
		"curl http://a -F 'b=c;headers=\"X: y\"'": `"headers" is not supported`,
		"curl 'http://a/[1-3]'":                   "several URLs",
		"curl http://a/{b,c}":                     "several URLs",
		"curl http://a?b=1&c=2":                   "put the URL into quotes",
		"curl 'http://a":                          "single quote is not closed",
		`curl "http://a`:                          "double quote is not closed",
		"curl $'http://a":                         "$' is not closed",
		`curl http://a -d "$(cat secret)"`:        "no shell is run",
		"curl http://a -d '{{name}}'":             "unknown place {{name}}",
		"curl ftp://a/b":                          "does not begin with http",
		"curl http://a -d @- <<EOF\nx":            "not closed",
		"curl http://a -d @- <<EOF":               "does not begin",
		"curl http://a\n -d b":                    "with a backslash",
		"curl http://a (b)":                       "outside of quotes",
	} {
		r, err := source.Curl(line)
		t.Log(line)
		refused(t, r, err, want)
	}
}

// TestCurlRepeatsNoSecret: an error does not contain the value, which would end up in the logs of a build.
func TestCurlRepeatsNoSecret(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		`curl http://a -H 'hunter2'`, `curl http://a -H $'Authorization: Bearer hunter2\nx'`, `curl http://a -b hunter2`,
		`curl http://a -F 'password=a;hunter2'`, `curl http://a -F 'password=hunter2;headers=x'`, `curl http://a -u hunter2`,
	} {
		r, err := source.Curl(line)
		said := fmt.Sprint(err)
		if r != nil {
			said += strings.Join(r.Notes, " ")
		}
		if err == nil && len(r.Notes) == 0 || strings.Contains(said, "hunter2") {
			t.Errorf("%s: got %s", line, said)
		}
	}
}

func TestCurlReportsReachAndNotes(t *testing.T) {
	t.Parallel()
	r, err := source.Curl(`curl http://a -F 'a=b; c'`)
	if err != nil {
		t.Fatal(err)
	}
	noted(t, r, `curl ignores the text after a semicolon in -F "a"`)
	r, err = source.Curl(`curl -sk --cacert ca.pem -E c.pem --key k.pem -L --max-time 5 --no-keepalive https://a/x -H 'Accept-Encoding: gzip' -d "$A" | jq`)
	if err != nil {
		t.Fatal(err)
	}
	want := source.Reach{Insecure: true, CACert: "ca.pem", Cert: "c.pem", Key: "k.pem"}
	if diff := cmp.Diff(want, r.Reach); diff != "" {
		t.Errorf("reach (-want +got):\n%s", diff)
	}
	for _, text := range []string{"-s, -L, --max-time, --no-keepalive", "Accept-Encoding was left out", "$A became {{var:A}}", "{{var:A}} has no value", "jq"} {
		noted(t, r, text)
	}
}

func TestCurlTakesTheKeyOut(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]wire.Field{
		`curl http://a/ -H 'idempotency-key: "abc"'`:                                                   {Name: "idempotency-key", Value: `"abc"`},
		`curl http://a/ -H 'webhook-id: msg_1' -H 'webhook-timestamp: 1' -H 'webhook-signature: v1,x'`: {Name: "webhook-id", Value: "msg_1"},
		`curl http://a/ -H 'Connection: close' -H 'Content-Length: 7' -H 'Host: a'`:                    {},
	} {
		r, err := source.Curl(line)
		wants(t, r, err, "GET http://a/")
		if diff := cmp.Diff(want, r.Key); diff != "" {
			t.Errorf("the key of %s (-want +got):\n%s", line, diff)
		}
	}
	r, err := source.Curl(`curl http://a/ -H 'Idempotency-Key: {{key}}' -H 'Host: b'`)
	wants(t, r, err, "GET http://a/\nIdempotency-Key: {{key}}\nHost: b")
}

func TestCurlReadsFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"body.json": "{\n\"a\": \"\xff\"\r\n}\n", "h.txt": "X-A: 1\r\n\r\nX-B: 2\n", "p.png": "PNG"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	at := func(line string) string { return strings.ReplaceAll(line, "DIR", dir) }
	r, err := source.Curl(at(`curl http://a/ -d @DIR/body.json -H @DIR/h.txt`))
	wants(t, r, err, "POST http://a/\nX-A: 1\nX-B: 2\nContent-Type: application/x-www-form-urlencoded\n\n{\"a\": \"\xff\"}")
	r, err = source.Curl(at(`curl http://a/ --data-binary @DIR/body.json -H 'Content-Type: application/json'`))
	wants(t, r, err, "POST http://a/\nContent-Type: application/json\n\n{\n\"a\": \"\xff\"\r\n}\n")
	r, err = source.Curl(at(`curl http://a/ --data-urlencode x@DIR/p.png -T DIR/p.png`))
	refused(t, r, err, "more than one kind")
	r, err = source.Curl(at(`curl http://a/ -T DIR/p.png`))
	wants(t, r, err, "PUT http://a/p.png\n\nPNG")
	r, err = source.Curl(at(`curl http://a/ -F 'f=@"DIR/p.png";filename="q \"1\".png"' -H 'Content-Type: multipart/form-data'`))
	if err == nil {
		withoutBoundary(r)
	}
	wants(t, r, err, "POST http://a/\nContent-Type: multipart/form-data; boundary=------------------------BOUNDARY\n\n"+
		"--------------------------BOUNDARY\r\nContent-Disposition: form-data; name=\"f\"; filename=\"q %221%22.png\"\r\n"+
		"Content-Type: image/png\r\n\r\nPNG\r\n--------------------------BOUNDARY--\r\n")
}

func TestFormIsTheSameEachTime(t *testing.T) {
	t.Parallel()
	line := `curl http://a/ -F a=1`
	one, err := source.Curl(line)
	two, err2 := source.Curl(line)
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	if diff := cmp.Diff(one, two); diff != "" {
		t.Errorf("a repetition would be another request (-first +second):\n%s", diff)
	}
}

func FuzzCurl(f *testing.F) {
	f.Add("curl -X POST 'http://a/b' -H 'A: b' --data-raw $'x\\u0041'")
	f.Add("curl ^\"http://a^\" ^\n -d ^\"a^\n\nb^\"")
	f.Add("curl -d @- http://a <<EOF\n$A\nEOF\n")
	f.Add("curl -F 'a=b;type=\"x' \"$(uuidgen)\" -G --url-query c=d")
	f.Fuzz(func(t *testing.T, line string) {
		r, err := source.Curl(line)
		if err != nil {
			return
		}
		if err := r.Template.Validate(); err != nil {
			t.Errorf("a request that cannot be sent: %v", err)
		}
		if len(r.Template.Body) > source.MaxBytes || len(r.Template.Header) > len(line) {
			t.Errorf("%d bytes, %d lines of header", len(r.Template.Body), len(r.Template.Header))
		}
	})
}
