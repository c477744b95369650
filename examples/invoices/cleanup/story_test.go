package cleanup_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/semel-dev/semel/examples/invoices"
	"github.com/semel-dev/semel/examples/invoices/cleanup"
	"github.com/semel-dev/semel/examples/invoices/protected"
	"github.com/semel-dev/semel/internal/claimtest"
	_ "github.com/semel-dev/semel/schema/dedupe" // the test builds the command of this: its result is that of this state
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noError = claimtest.NoError

// story is a database that customers and the commands of the README change.
type story struct {
	*testing.T

	dir, file string
	done      [2]cleanup.Orders
}

// run runs a command of the README, and returns the sums afterwards.
func (s *story) run(command string) cleanup.Sums {
	s.Helper()
	words := strings.Fields(command)
	cmd := exec.CommandContext(s.Context(), filepath.Join(s.dir, words[0]), words[1:]...)
	cmd.Dir, cmd.Env = s.dir, append(os.Environ(), "SEMEL_DSN=sqlite:shop.db")
	if out, err := cmd.CombinedOutput(); err != nil {
		s.Fatalf("%s: %v\n%s", command, err, out)
	}
	return s.sums()
}

func (s *story) sums() cleanup.Sums {
	s.Helper()
	sums, err := cleanup.ReadSums(s.Context(), s.file)
	noError(s.T, err)
	return sums
}

// order lets customers order until the function that it returns is called.
func (s *story) order(server *httptest.Server) (stop func()) {
	ctx, cancel := context.WithCancel(s.Context())
	var all sync.WaitGroup
	for i := range s.done {
		all.Go(func() {
			var err error
			if s.done[i], err = cleanup.Order(ctx, server.Client(), server.URL); err != nil {
				s.Error(err)
			}
		})
	}
	return func() { cancel(); all.Wait() }
}

// The commands of the README merge two years of duplicates while customers order: no duplicate is new, no order is lost, and
// each e-mail address keeps its sums.
func TestCleanUpWhileCustomersOrder(t *testing.T) {
	t.Parallel()
	s := &story{T: t, dir: t.TempDir()}
	s.file = filepath.Join(s.dir, "shop.db")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", s.dir, "../../../cmd/semel").CombinedOutput()
	if err != nil {
		t.Fatalf("build semel: %v\n%s", err, out)
	}
	text, err := os.ReadFile("README.md")
	noError(t, err)
	noError(t, os.CopyFS(s.dir, os.DirFS("."))) // the rules
	commands := regexp.MustCompile(`(?m)^semel dedupe .*$`).FindAllString(string(text), -1)
	if len(commands) != 9 {
		t.Fatalf("the README has the commands %q", commands)
	}
	noError(t, cleanup.History(t.Context(), s.file))
	before := s.sums()
	if before.Duplicates == 0 || before.Old.Payments == 0 {
		t.Fatalf("the history is %s", before)
	}
	app, err := invoices.Open(s.file, &invoices.Options{Latency: -1})
	noError(t, err)
	server := httptest.NewServer(app.Handler())
	stop := s.order(server)
	guarded := int64(-1)
	for _, command := range commands {
		now := s.run(command)
		want := guarded
		switch verb := strings.Fields(command)[2]; verb {
		case "plan":
			want = now.Duplicates
		case "guard":
			guarded, want = now.Duplicates, now.Duplicates
		case "run", "finish", "status", "show":
			want = 0
		}
		if now.Old != before.Old || now.ByEmail != before.ByEmail || now.Duplicates != want {
			t.Errorf("after %s, there are %s, want %d duplicates, and the sums of %s", command, now, want, before)
		}
	}
	stop()
	server.Close()
	noError(t, app.Close())
	var confirmed cleanup.Orders
	for _, one := range s.done {
		confirmed.Invoices, confirmed.Cents = confirmed.Invoices+one.Invoices, confirmed.Cents+one.Cents
		confirmed.Payments, confirmed.PaidCents = confirmed.Payments+one.Payments, confirmed.PaidCents+one.PaidCents
		confirmed.Refused += one.Refused
	}
	if now := s.sums(); now.New != confirmed.Total || confirmed.Invoices == 0 || confirmed.Refused == 0 {
		t.Errorf("customers have %s, and the database has %s", confirmed, now)
	}
	s.protected()
}

// protected lets the protected application go on with the database.
func (s *story) protected() {
	s.Helper()
	app, err := protected.Open(s.file, nil)
	noError(s.T, err)
	r := httptest.NewRequestWithContext(s.Context(), http.MethodPost, "/api/customers", strings.NewReader(`{"name": "Ada", "email": "Customer-7@shop.example"}`))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", "one-wish")
	w := httptest.NewRecorder()
	app.Handler().ServeHTTP(w, r)
	if w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), "There is a customer with this e-mail address already.") {
		s.Errorf("the protected application answers %d %s", w.Code, w.Body)
	}
	noError(s.T, app.Close())
}
