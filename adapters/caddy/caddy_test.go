package semelcaddy_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/semel-dev/semel/internal/testserver"
)

// program is a Caddy with the module, built once for all tests.
var program string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "semel-caddy-")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		program = filepath.Join(dir, "caddy")
		if out, err := exec.CommandContext(context.Background(), "go", "build", "-o", program, "./caddy").CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build Caddy: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

// process is a Caddy of its own, with the directive and a proxy.
type process struct {
	t    *testing.T
	dir  string
	url  string
	log  bytes.Buffer // read it after the end
	cmd  *exec.Cmd
	done chan struct{}
}

// start starts Caddy on the site's directives and rules, in a folder of its own that stays when it is killed.
func start(t *testing.T, site string, rules ...string) *process {
	t.Helper()
	p := &process{t: t, dir: t.TempDir(), url: "http://" + free(t)}
	for _, text := range rules {
		noError(t, os.WriteFile(filepath.Join(p.dir, "semel.yaml"), []byte(text), 0o600))
	}
	p.configure(site)
	p.run()
	t.Cleanup(p.kill)
	return p
}

func free(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	noError(t, err)
	defer l.Close()
	return l.Addr().String()
}

// configure writes the Caddyfile. Its admin address is a socket in the folder.
func (p *process) configure(site string) {
	text := "{\n\tadmin unix/" + p.socket() + "\n\tauto_https off\n\tpersist_config off\n}\n" + p.url + " {\n" + site + "\n}\n"
	noError(p.t, os.WriteFile(filepath.Join(p.dir, "Caddyfile"), []byte(text), 0o600))
}

func (p *process) socket() string { return filepath.Join(p.dir, "admin.sock") }

func (p *process) run() {
	p.t.Helper()
	p.cmd = exec.CommandContext(context.WithoutCancel(p.t.Context()), program, "run", "--config", "Caddyfile")
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = p.dir, &p.log, &p.log
	p.cmd.Env = append(os.Environ(), "HOME="+p.dir, "STORE=sqlite:semel.db")
	noError(p.t, p.cmd.Start())
	done := make(chan struct{})
	p.done = done
	go func() { _ = p.cmd.Wait(); close(done) }()
	testserver.Eventually(p.t, "Caddy serves", func() bool {
		select {
		case <-done:
			p.t.Fatalf("Caddy ended:\n%s", &p.log)
		default:
		}
		conn, err := new(net.Dialer).DialContext(p.t.Context(), "tcp", strings.TrimPrefix(p.url, "http://"))
		return err == nil && conn.Close() == nil
	})
}

// kill is kill -9.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// reload gives the process its Caddyfile again.
func (p *process) reload() {
	p.t.Helper()
	cmd := exec.CommandContext(p.t.Context(), program, "reload", "--force", "--config", "Caddyfile", "--address", "unix/"+p.socket())
	cmd.Dir = p.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		p.t.Fatalf("reload: %v\n%s", err, out)
	}
}

// validate returns what Caddy says of the folder's Caddyfile, which must be wrong.
func validate(t *testing.T, dir string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, "validate", "--config", "Caddyfile")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+dir)
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Errorf("Caddy takes it")
	}
	return string(out)
}

// answer holds what a caller sees.
type answer struct {
	status  int
	body    string
	header  http.Header
	callErr error
}

func (a answer) replayed() bool { return a.header.Get("Idempotency-Status") == "replayed" }

func (p *process) post(key, body string) answer {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, p.url+"/orders", strings.NewReader(body))
	noError(p.t, err)
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	return send(p.t, req)
}

func send(t *testing.T, req *http.Request) answer {
	t.Helper()
	client := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		return answer{callErr: err}
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	noError(t, err)
	return answer{status: res.StatusCode, body: string(body), header: res.Header}
}

// application counts what it creates, and can be told to do so in other ways.
type application struct {
	created atomic.Int64
	address string
	serve   atomic.Pointer[http.HandlerFunc]
}

func newApplication(t *testing.T) *application {
	t.Helper()
	a := &application{}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	a.address = server.Listener.Addr().String()
	return a
}

// ServeHTTP creates an order for a POST.
func (a *application) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if serve := a.serve.Load(); serve != nil {
		(*serve)(w, r)
		return
	}
	if r.Method != http.MethodPost {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, `<!doctype html><title>New</title><form method="post" action="/orders"><input name="n" value="1"></form>`)
		return
	}
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Location", "/orders/1")
	w.WriteHeader(http.StatusCreated)
	_, _ = fmt.Fprintf(w, "order %d", a.created.Add(1))
}

func (a *application) want(t *testing.T, n int64) {
	t.Helper()
	if got := a.created.Load(); got != n {
		t.Errorf("the application created %d orders, want %d", got, n)
	}
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
