package command

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/semel-dev/semel/internal/cli"
)

// library is a service that lends books to people who are logged in: it mints ids, and executes each id once.
type library struct {
	mu     sync.Mutex // guards the fields below
	minted int
	lent   map[string]string // borrowers by id
}

func (l *library) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Path == "/login" {
		if r.FormValue("password") != "secret of "+r.FormValue("name") {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		_, _ = fmt.Fprintf(w, `{"token":"token of %s"}`, r.FormValue("name"))
		return
	}
	who, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer token of ")
	id, lends := strings.CutPrefix(r.URL.Path, "/loans/")
	switch {
	case !ok:
		w.WriteHeader(http.StatusUnauthorized)
	case r.URL.Path == "/ids" && r.Method == http.MethodPost:
		l.minted++
		_, _ = fmt.Fprintf(w, `{"new":{"id":"loan-%d"}}`, l.minted)
	case r.URL.Path == "/count":
		_, _ = fmt.Fprintf(w, `{"loans":%d}`, len(l.lent))
	case lends && r.Method == http.MethodPut:
		if had, ok := l.lent[id]; ok && had != who {
			w.WriteHeader(http.StatusConflict)
			return
		}
		l.lent[id] = who
		w.WriteHeader(http.StatusCreated)
		_, _ = fmt.Fprintf(w, `{"id":%q}`, id)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// checked runs semel check in this process.
func checked(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	env := func(name string) string { return map[string]string{"SEMEL_LOG_FORMAT": "text"}[name] }
	code = run(t.Context(), append([]string{"check"}, args...), strings.NewReader(""), &out, &errs, env)
	return code, out.String(), errs.String()
}

// TestCheckLogsInAndMints uses the flags about users and ids together.
func TestCheckLogsInAndMints(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(&library{lent: map[string]string{}})
	t.Cleanup(server.Close)
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		noError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	password := write("password", "secret of ann\n")
	as := func(ofBob string) string {
		return write("as.yaml", "user: {header: ['Authorization: Bearer {{var:token}}'], var: {name: ann, password: '@"+password+"'}}\n"+
			"other: {header: ['Authorization: Bearer {{var:token}}'], var: {name: bob, password: "+ofBob+"}}\n"+
			"login:\n  curl: curl "+server.URL+"/login --data-urlencode 'name={{var:name}}' --data-urlencode 'password={{var:password}}'\n"+
			"  take: {token: /token}\n")
	}
	args := func(ofBob string) []string {
		return []string{
			"--profile", "resource", "--only", "BASIC,SCOPE-01", "--as", as(ofBob), "--mint", "POST /ids /new/id",
			"--count", "json:/count /loans", "--settle", "300ms", "--json",
			"--", "curl", server.URL + "/loans/{{minted}}", "-X", "PUT", "--json", `{"book":"{{uuid}}"}`,
		}
	}
	code, stdout, stderr := checked(t, args("secret of bob")...)
	if code != cli.ExitFine || !strings.Contains(stdout, `"fine":true`) {
		t.Errorf("exit %d\n%s\n%s", code, stdout, stderr)
	}
	for _, secret := range []string{"secret of", "token of"} {
		if strings.Contains(stdout+stderr, secret) {
			t.Errorf("the output has %q", secret)
		}
	}
	code, _, stderr = checked(t, args("wrong")...)
	if code != cli.ExitUnreachable || !strings.Contains(stderr, "log in the other user: the answer is 403") {
		t.Errorf("exit %d\n%s", code, stderr)
	}
}

// TestCheckOverTLS trusts the configured certificates.
func TestCheckOverTLS(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) }))
	server.Config.ErrorLog = nil
	t.Cleanup(server.Close)
	dir := t.TempDir()
	authorities, empty := filepath.Join(dir, "ca.pem"), filepath.Join(dir, "empty.pem")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	noError(t, os.WriteFile(authorities, certificate, 0o600))
	noError(t, os.WriteFile(empty, nil, 0o600))
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{nil, cli.ExitUnreachable, "--cacert"},
		{[]string{"-k"}, cli.ExitFine, ""},
		{[]string{"--cacert", authorities}, cli.ExitFine, ""},
		{[]string{"--cacert", empty}, cli.ExitUsage, "no certificate in PEM"},
		{[]string{"--cacert", filepath.Join(dir, "nowhere")}, cli.ExitUsage, "--cacert: "},
	} {
		code, stdout, stderr := checked(t, slices.Concat(c.args, []string{"--only", "BASIC-03", "--", "curl", server.URL, "-d", "n={{n}}"})...)
		if code != c.code || !strings.Contains(stderr, c.says) {
			t.Errorf("%v: exit %d, want %d\n%s\n%s", c.args, code, c.code, stdout, stderr)
		}
	}
}
