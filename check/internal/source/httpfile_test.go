package source_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/check/internal/source"
	"github.com/semel-dev/semel/check/wire"
)

// requests is a file for the REST Client of VS Code and the HTTP client of JetBrains.
const requests = `@host = localhost:8080
@base = http://{{host}}/api
// a comment

# @name list
GET {{base}}/invoices
    ?page=1
    &size={{size}}

### create invoice
# @no-redirect
< {%
  request.variables.set("x", 1)
%}
POST {{base}}/invoices HTTP/1.1
Content-Type: application/json
# a comment among the header lines
Authorization: Bearer {{token}}
Idempotency-Key: {{$guid}}

{
  "id": "{{$guid}}",
  "n": {{$randomInt 1 100}},
  "at": "{{$datetime iso8601}}",
  "ours": "{{uuid}} {{ n }} {{var:x}}",
  "home": "{{$processEnv HOME}}"
}

> {%
  client.test("x", function() {});
%}

###
# @name form
POST /login
Host: {{host}}
Authorization: Basic joe secret
Content-Type: application/x-www-form-urlencoded

user=joe
&password={{$timestamp}}

### upload
PUT {{base}}/files
Content-Type: multipart/form-data; boundary=B

--B
Content-Disposition: form-data; name="file"; filename="a.txt"

< FILE
--B--

<> earlier.json
### shell
curl -X DELETE "{{base}}/invoices/1" \
  -H 'X-A: 1'

### bare
example.com/x
`

func TestHTTPFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "api.http")
	for name, text := range map[string]string{"a.txt": "{{x}}\n", "api.http": strings.ReplaceAll(requests, "FILE", "./a.txt")} {
		if name == "a.txt" {
			text = "hello\n"
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const create = "POST http://localhost:8080/api/invoices\nContent-Type: application/json\nAuthorization: Bearer {{var:token}}\n\n" +
		"{\n  \"id\": \"{{uuid}}\",\n  \"n\": {{n}},\n  \"at\": \"{{now}}\",\n  \"ours\": \"{{uuid}} {{n}} {{var:x}}\",\n  \"home\": \"{{var:HOME}}\"\n}"
	const form = "POST http://localhost:8080/login\nAuthorization: Basic am9lOnNlY3JldA==\nContent-Type: application/x-www-form-urlencoded\n\nuser=joe&password={{n}}"
	for name, want := range map[string]string{
		"create invoice": create,
		"2":              create,
		"list":           "GET http://localhost:8080/api/invoices?page=1&size={{var:size}}",
		"form":           form,
		"upload": "PUT http://localhost:8080/api/files\nContent-Type: multipart/form-data; boundary=B\n\n" +
			"--B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\nhello\n\r\n--B--\r\n",
		"shell": "DELETE http://localhost:8080/api/invoices/1\nX-A: 1",
		"bare":  "GET http://example.com/x",
	} {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		r, err := source.HTTPFile(f, name)
		wants(t, r, err, want)
		_ = f.Close()
	}
}

func TestHTTPFileReports(t *testing.T) {
	t.Parallel()
	r, err := source.HTTPFile(strings.NewReader(strings.ReplaceAll(requests, "\n", "\r\n")), "create invoice")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"{{var:token}} has no value", "a script before the request was left out", "the handling of the answer was left out",
		"{{$randomInt 1 100}} became {{n}}", "Idempotency-Key was left out",
	} {
		noted(t, r, text)
	}
	if diff := cmp.Diff(wire.Field{Name: "Idempotency-Key", Value: "{{uuid}}"}, r.Key); diff != "" {
		t.Error(diff)
	}
}

func TestHTTPFileTakesTheOnlyOne(t *testing.T) {
	t.Parallel()
	r, err := source.HTTPFile(strings.NewReader("GET http://a/"), "")
	wants(t, r, err, "GET http://a/")
	r, err = source.HTTPFile(strings.NewReader("GET http://a/\n###\nPOST http://b/\n\n<?xml version=\"1.0\"?>\n< a\n\n"), "")
	refused(t, r, err, "stat a")
	r, err = source.HTTPFile(strings.NewReader("GET http://a/\n###\nPOST http://b/\n\n<?xml version=\"1.0\"?>\n> a\n\n"), "")
	wants(t, r, err, "POST http://b/\n\n<?xml version=\"1.0\"?>\n> a")
}

func TestHTTPFileRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, name, want string }{
		{"", "", "no requests"},
		{"# only a comment\n@a = b\n###\n", "", "no requests"},
		{requests, "", `"" does not select one request: name one of 1 (list), 2 (create invoice), 3 (form)`},
		{requests, "nothing", "4 (upload)"},
		{"\n\nGRPC a/b", "", "line 3: GRPC is not an HTTP method"},
		{"POST /x", "", "names no host"},
		{"POST http://a/\nno colon", "", "a header line has no colon"},
		{"POST http://a/{{$x.y[0]}}", "", "is unknown"},
		{"@a={{b}}\n@b={{a}}\nPOST http://{{a}}", "", "contains itself"},
		{"@a={{b}}{{b}}{{b}}{{b}}{{b}}{{b}}{{b}}\n@b={{c}}{{c}}{{c}}{{c}}{{c}}{{c}}{{c}}\n@c={{d}}{{d}}{{d}}{{d}}{{d}}{{d}}{{d}}{{d}}{{d}}{{d}}\n@d={{e}}{{e}}{{e}}{{e}}" +
			"{{e}}{{e}}{{e}}{{e}}{{e}}{{e}}{{e}}{{e}}{{e}}\n@e={{f}}{{f}}{{f}}{{f}}\n@f=x\nPOST http://{{a}}", "", "too many"},
		{"@a=" + strings.Repeat("x", 1<<20) + "\nPOST http://a/\n\n" + strings.Repeat("{{a}}", 20), "", "too many"},
		{"POST http://a/\n\n< /nowhere/at/all", "", "/nowhere/at/all"},
		{"POST http://a/\nAuthorization: Digest a b", "", "Digest needs new credentials"},
		{"POST http://a/\nAuthorization: Basic {{u}} b", "", "are encoded"},
		{"curl http://a --frobnicate", "", "line 1: curl command: unknown option --frobnicate"},
		{strings.Repeat("x", source.MaxBytes+1), "", "larger than 16 MiB"},
	} {
		r, err := source.HTTPFile(strings.NewReader(c.text), c.name)
		refused(t, r, err, c.want)
	}
}

func FuzzHTTPFile(f *testing.F) {
	f.Add(requests, "form")
	f.Add("POST http://a/{{$guid}}\nA: b\n\nc", "")
	f.Add("curl -d a http://b", "1")
	f.Fuzz(func(t *testing.T, text, name string) {
		r, err := source.HTTPFile(strings.NewReader(text), name)
		if err != nil {
			return
		}
		if err := r.Template.Validate(); err != nil {
			t.Errorf("a request that cannot be sent: %v", err)
		}
		if len(r.Template.Body) > source.MaxBytes {
			t.Errorf("the body has %d bytes", len(r.Template.Body))
		}
	})
}
