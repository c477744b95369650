package operate_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/check/effects"
	"github.com/semel-dev/semel/check/internal/operate"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/internal/waiting"
)

// start returns the URL of a service in that mode, its folder, and the lines that kill or restart it.
func start(t *testing.T, mode string) (at, dir string, line func(signal string) string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ledger"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", loopback)
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	line = func(signal string) string {
		// The new one writes its id after the old one has released the address.
		return fmt.Sprintf(`cd '%s'; old=$(cat pid); kill -%s $old 2>&1; %s='%s' %s='%s' %s='%s' '%s' &
			while [ "$(cat pid)" = "$old" ]; do sleep 0.01; done`,
			dir, signal, envDir, dir, envMode, mode, envAddr, address, binary)
	}
	at = "http://" + address + "/orders"
	t.Cleanup(func() { end(t, filepath.Join(dir, "pid")) })
	if err := operate.Then(operate.Command(line("0")), operate.Ready(nil, at))(t.Context()); err != nil {
		t.Fatal(err)
	}
	return at, dir, line
}

// end kills the process whose id is in the file.
func end(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
		return
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Error(err)
		return
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		t.Error(err)
	}
}

func TestOperation(t *testing.T) {
	t.Parallel()
	pass, fail := check.Pass, check.Fail
	for mode, want := range map[string][3]check.Verdict{ // OP-01, OP-02, OP-03
		"store":  {pass, pass, pass},
		"memory": {fail, fail, pass},
		"410":    {pass, pass, fail}, // without a reason
		"500":    {pass, pass, fail},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			at, dir, line := start(t, mode)
			profile, _ := check.ProfileNamed("ietf")
			ready := operate.Ready(nil, at)
			lines, err := effects.Lines(filepath.Join(dir, "ledger"), "")
			if err != nil {
				t.Fatal(err)
			}
			plan, err := check.NewPlan(check.Config{
				Template: check.Template{Method: "POST", URL: at, Body: []byte(`{"n":{{n}}}`)},
				Profile:  profile, Only: []string{"operation"}, Counters: []check.Counter{lines},
				Settle: 200 * time.Millisecond, Recovery: 6 * time.Second,
				Restart: operate.Then(operate.Command(line("TERM")), ready),
				Kill:    operate.Then(operate.Command(line("KILL")), ready),
			})
			if err != nil {
				t.Fatal(err)
			}
			report, err := plan.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var got [3]check.Verdict
			interrupted := 0
			for i := range report.Results {
				r := &report.Results[i]
				if at, ok := strings.CutPrefix(r.ID, "OP-0"); ok {
					n, _ := strconv.Atoi(at)
					got[n-1] = r.Verdict
					t.Logf("%s %s after %s: %s", r.ID, r.Verdict, r.Took, r.Reason)
				}
				for _, e := range r.Exchanges {
					if e.Label == "killed" && e.Answer == nil {
						interrupted++
					}
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("OP-01 to OP-03 (-want +got):\n%s", diff)
			}
			if report.Died != "" || report.Sent > report.Announced {
				t.Errorf("sent %d of %d requests, died: %q", report.Sent, report.Announced, report.Died)
			}
			if interrupted == 0 {
				t.Error("no request was interrupted")
			}
		})
	}
}

// TestOperationOfAServiceThatStaysAway: a service that is killed and does not come back ends the run.
func TestOperationOfAServiceThatStaysAway(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) }))
	must.Succeed(server.Listener.Close(), "give the port up")
	server.Listener = must.Get(new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.2:0")) // a port of 127.0.0.1 goes to the next test that asks for one
	server.Start()
	t.Cleanup(server.Close)
	address := server.Listener.Addr().String()
	profile, _ := check.ProfileNamed("ietf")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	plan, err := check.NewPlan(check.Config{
		Template: check.Template{Method: "POST", URL: server.URL}, Profile: profile, Only: []string{"OP-03"},
		Kill: func(ctx context.Context) error {
			server.Close()
			dial := func() (net.Conn, error) { return new(net.Dialer).DialContext(ctx, "tcp", address) }
			for conn, err := dial(); err == nil; conn, err = dial() { // a child process of another test that is about to begin holds the port
				must.Succeed(conn.Close(), "hang up")
			}
			time.AfterFunc(300*time.Millisecond, cancel) // the user gives up
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	report, err := plan.Run(ctx)
	if result := resultOf(t, report, "OP-03"); !errors.Is(err, context.Canceled) || result.Verdict != check.Incomplete || report.Died == "" {
		t.Errorf("%v; %s %s; died: %q", err, result.Verdict, result.Reason, report.Died)
	}
}

// TestOperationOfAServiceThatFlaps: a service that comes and goes is not given up.
func TestOperationOfAServiceThatFlaps(t *testing.T) {
	t.Parallel()
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) })
	address := loopback
	listen := func() net.Listener {
		listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
		for errors.Is(err, syscall.EADDRINUSE) && waiting.Sleep(t.Context(), time.Millisecond) { // held by a child process of another test that is about to begin
			listener, err = (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
		}
		must.Succeed(err, "listen again") // not in the test's own goroutine
		address = listener.Addr().String()
		return listener
	}
	serve := func() *httptest.Server {
		server := httptest.NewUnstartedServer(handler)
		_ = server.Listener.Close()
		server.Listener = listen()
		server.Start()
		return server
	}
	server := serve()
	defer func() { server.Close() }()
	at := server.URL
	var helpers sync.WaitGroup
	defer helpers.Wait()
	profile, _ := check.ProfileNamed("ietf")
	plan, err := check.NewPlan(check.Config{
		Template: check.Template{Method: "POST", URL: at}, Profile: profile, Only: []string{"OP-03"},
		Kill: func(context.Context) error {
			helpers.Wait() // for the previous one
			server.Close()
			brief := listen()
			helpers.Go(func() { // up for one request, and down for some time
				if conn, err := brief.Accept(); err == nil {
					_ = conn.Close()
				}
				_ = brief.Close()
				<-time.After(200 * time.Millisecond)
				server = serve()
			})
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	report, err := plan.Run(t.Context())
	helpers.Wait()
	result := resultOf(t, report, "OP-03")
	if err != nil || report.Died != "" || result.Verdict != check.Pass {
		t.Errorf("%v; %s %s; died: %q", err, result.Verdict, result.Reason, report.Died)
	}
	retries := 0
	for _, e := range result.Exchanges {
		if e.Answer == nil && e.Label == "after the kill" {
			retries++
		}
	}
	if retries == 0 {
		t.Error("no retry met the outage")
	}
}

func resultOf(t *testing.T, report *check.Report, id string) check.Result {
	t.Helper()
	at := slices.IndexFunc(report.Results, func(r check.Result) bool { return r.ID == id })
	if at < 0 {
		t.Fatalf("no result of %s", id)
	}
	return report.Results[at]
}

// TestOperationThatFails: a failed kill is not blamed on the service.
func TestOperationThatFails(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) }))
	t.Cleanup(server.Close)
	profile, _ := check.ProfileNamed("ietf")
	no := operate.Command("echo no such unit; exit 5")
	plan, err := check.NewPlan(check.Config{
		Template: check.Template{Method: "POST", URL: server.URL}, Profile: profile, Only: []string{"operation"}, Kill: no, Restart: no,
	})
	if err != nil {
		t.Fatal(err)
	}
	report, err := plan.Run(t.Context())
	if err != nil || report.Died != "" {
		t.Fatal(err, report.Died)
	}
	for i := range report.Results {
		r := &report.Results[i]
		if strings.HasPrefix(r.ID, "OP-") && (r.Verdict != check.Incomplete || !strings.Contains(r.Reason, "exit status 5: no such unit")) {
			t.Errorf("%s %s: %s", r.ID, r.Verdict, r.Reason)
		}
	}
}

func TestCommand(t *testing.T) {
	t.Parallel()
	for line, words := range map[string]string{
		"true":                              "",
		"echo fine":                         "",
		" ":                                 "the command is empty",
		"exit 3":                            "exit status 3: it printed nothing",
		"echo first; echo boom >&2; exit 1": "exit status 1: first\nboom",
		"seq 100000; exit 1":                "99999\n100000",
	} {
		err := operate.Command(line)(t.Context())
		if words == "" && err != nil || words != "" && (err == nil || !strings.Contains(err.Error(), words)) {
			t.Errorf("%s: %v, want %q", line, err, words)
		}
		if err != nil && len(err.Error()) > 4<<10 {
			t.Errorf("%s: an error of %d bytes", line, len(err.Error()))
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := operate.Command("sleep 60")(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a command that was given up: %v", err)
	}
	var order []int
	step := func(n int, err error) func(context.Context) error {
		return func(context.Context) error { order = append(order, n); return err }
	}
	broken := errors.New("broken")
	if err := operate.Then(step(1, nil), step(2, broken), step(3, nil))(t.Context()); !errors.Is(err, broken) || len(order) != 2 {
		t.Errorf("steps %v: %v", order, err)
	}
}

// TestCommandLeavesAServiceRunning: a command ends with its shell, and leaves its children alone.
func TestCommandLeavesAServiceRunning(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pid")
	if err := operate.Command("sleep 100 & echo $! > " + path)(t.Context()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, 0); err != nil {
		t.Errorf("what it started is gone: %v", err)
	}
	end(t, path)
}

func TestReadyWaits(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n := asked.Add(1); n < 4 {
			w.WriteHeader([]int{http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}[n-1])
			return
		}
		if r.Method != http.MethodHead {
			t.Errorf("asked by %s", r.Method)
		}
		w.WriteHeader(http.StatusMethodNotAllowed)
	}))
	defer server.Close()
	if err := operate.Ready(nil, server.URL)(t.Context()); err != nil || asked.Load() != 4 {
		t.Errorf("ready after %d questions: %v", asked.Load(), err)
	}
	server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := operate.Ready(nil, server.URL)(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the service is gone: %v", err)
	}
	if err := operate.Ready(nil, "localhost:80")(t.Context()); err == nil {
		t.Error("an invalid URL is accepted")
	}
}
