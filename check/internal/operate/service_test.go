package operate_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"
	_ "modernc.org/sqlite"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/ids"
	"github.com/semel-dev/semel/semelhttp"
	"github.com/semel-dev/semel/store/memstore"
	"github.com/semel-dev/semel/store/sqlitestore"
)

// The environment of the process that is killed and restarted: this test binary.
const (
	envDir  = "SEMEL_OPERATE_DIR"  // the folder of its data; if set, the process is a service
	envMode = "SEMEL_OPERATE_MODE" // how it protects itself
	envAddr = "SEMEL_OPERATE_ADDR"

	// loopback has a port that no connection of another test takes while the service is away.
	loopback = "127.48.0.1:0"
)

const (
	takes    = 300 * time.Millisecond // one request; the effect is in the middle
	lease    = 2 * time.Second
	lifetime = 3 * time.Minute // of a forgotten service
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(envDir); dir != "" {
		if err := serve(dir, os.Getenv(envMode), os.Getenv(envAddr)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// serve runs the service until it is killed.
func serve(dir, mode, address string) error {
	ctx, cancel := context.WithTimeout(context.Background(), lifetime)
	defer cancel()
	handler, err := newService(ctx, dir, mode)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	for err != nil { // the previous one may still be dying
		select {
		case <-ctx.Done():
			return err
		case <-time.After(10 * time.Millisecond):
		}
		listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	}
	if err := os.WriteFile(filepath.Join(dir, "pid"), []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Second}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	return server.Serve(listener)
}

// newService returns the application behind its protection.
func newService(ctx context.Context, dir, mode string) (http.Handler, error) {
	app := &orders{dir: dir}
	policy := semel.Policy{Lease: lease}
	switch mode {
	case "memory":
		return guarded(memstore.New(nil), app, policy)
	case "store":
		store, err := sqlitestore.Open(ctx, filepath.Join(dir, "keys.db"), nil)
		if err != nil {
			return nil, err
		}
		return guarded(store, app, policy)
	}
	status, err := strconv.Atoi(mode)
	return &locks{dir: dir, app: app, status: status}, err
}

func guarded(store semel.Store, app http.Handler, policy semel.Policy) (http.Handler, error) {
	guard, err := semel.New(store, &semel.Options{Policy: policy})
	if err != nil {
		return nil, err
	}
	door, err := semelhttp.New(guard, func(*http.Request) (string, error) { return semel.ScopeGlobal, nil }, nil)
	if err != nil {
		return nil, err
	}
	return door.Handler(app), nil
}

// orders is an application whose effect is a line of a file.
type orders struct{ dir string }

func (o *orders) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		http.NotFound(w, r)
		return
	}
	id := (&ids.UUIDs{}).New().String()
	err := errors.Join(wait(r.Context()), o.effect(id), wait(r.Context()))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Location", "/orders/"+id)
	w.WriteHeader(http.StatusCreated)
	_, _ = fmt.Fprintf(w, `{"id":%q}`, id)
}

func (o *orders) effect(id string) error {
	file, err := os.OpenFile(filepath.Join(o.dir, "ledger"), os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.WriteString(file, id+"\n")
	return errors.Join(err, file.Close())
}

func wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(takes / 2):
		return nil
	}
}

// locks keeps a file for each key, which is never removed: an answer, or the lock of an interrupted request.
type locks struct {
	dir    string
	app    http.Handler
	status int // for requests that find a lock
}

func (l *locks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := r.Header.Get("Idempotency-Key")
	path := filepath.Join(l.dir, "key-"+filepath.Base(key))
	lock, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if key == "" || err == nil {
		captured := &capture{ResponseWriter: w}
		l.app.ServeHTTP(captured, r)
		if key != "" {
			_, _ = lock.Write(captured.body)
			_ = lock.Close()
		}
		return
	}
	answer, err := os.ReadFile(path)
	switch {
	case err != nil:
		http.Error(w, "the lock cannot be read", http.StatusInternalServerError)
	case len(answer) == 0:
		w.WriteHeader(l.status)
	default:
		w.Header().Set("Location", "/orders/"+string(answer[len(`{"id":"`):len(answer)-len(`"}`)]))
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write(answer)
	}
}

type capture struct {
	http.ResponseWriter

	body []byte
}

func (c *capture) Write(p []byte) (int, error) {
	c.body = append(c.body, p...)
	return c.ResponseWriter.Write(p)
}
