package express_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/semel-dev/semel/proof/integration/apps"
)

const rules = "../../../../examples/rules/express.yaml"

// modules is the folder with Express in it.
var modules = apps.Modules("../../../../.cache/express")

// shop is the running application of one test.
type shop struct {
	tb      testing.TB
	dir     string
	address string
	own     *apps.Person // at its own door
}

func start(tb testing.TB) *shop {
	tb.Helper()
	s := &shop{tb: tb, dir: tb.TempDir()}
	installed := modules(tb)
	web, err := filepath.Abs("../../../../web")
	if err != nil {
		tb.Fatal(err)
	}
	if err := os.CopyFS(s.dir, os.DirFS("testdata")); err != nil {
		tb.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(s.dir, "node_modules"), os.DirFS(filepath.Join(installed, "node_modules"))); err != nil {
		tb.Fatal(err)
	}
	if err := os.Symlink(web, filepath.Join(s.dir, "node_modules", "semel")); err != nil { // as npm install of the folder does
		tb.Fatal(err)
	}
	s.address = apps.Start(tb, apps.Command{
		Dir: s.dir, Env: s.environment(), Ready: "/orders",
		Args: func(port string) []string { return []string{"node", "shop.mjs", port} },
	})
	s.own = apps.NewPerson(tb, s.address)
	return s
}

func (s *shop) environment() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir, "NO_COLOR=1"}
}

// want reports another number of orders, as the shop counts them at its own door.
func (s *shop) want(n int) {
	s.tb.Helper()
	var orders []any
	if answer := s.own.Get("/orders"); json.Unmarshal(answer.Body, &orders) != nil || len(orders) != n {
		s.tb.Errorf("%d orders, want %d: %s", len(orders), n, answer.Body)
	}
}

// A form that is sent twice, and by four clicks at once, is one order; opened again, it is another.
func TestForm(t *testing.T) {
	t.Parallel()
	apps.BothDoors(t, func(t *testing.T, d apps.Door) {
		s := start(t)
		person := apps.NewPerson(t, d.At(t, s.address, rules))
		sent := person.Open("/").Form("order").Set("item", "a book").Press("")
		for _, answer := range append(person.SendAtOnce(sent, 4), person.Send(sent)) {
			if answer.Status != http.StatusCreated || d.Protected && string(answer.Body) != `{"order":1}` {
				t.Errorf("got %d %s", answer.Status, answer.Body)
			}
		}
		s.want(d.Want(5, 1))
		person.Send(person.Open("/").Form("order").Set("item", "a book").Press(""))
		s.want(d.Want(6, 2))
	})
}

// A program whose answer gets lost sends again, with the client of web for Node: with Semel that is one order.
func TestClient(t *testing.T) {
	t.Parallel()
	apps.BothDoors(t, func(t *testing.T, d apps.Door) {
		s := start(t)
		front := losing(t, d.At(t, s.address, rules))
		cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "node", "client.mjs", front)
		cmd.Dir, cmd.Env = s.dir, s.environment()
		out, err := cmd.CombinedOutput()
		if want := map[bool]string{true: `201 {"order":1}`, false: `201 {"order":2}`}[d.Protected]; err != nil || strings.TrimSpace(string(out)) != want {
			t.Errorf("the client: %v %s, want %s", err, out, want)
		}
		s.want(d.Want(2, 1))
	})
}

// losing returns the URL of a proxy that lets the first answer get lost.
func losing(t *testing.T, address string) string {
	t.Helper()
	var answers atomic.Int64
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: address})
	proxy.ModifyResponse = func(*http.Response) error {
		if answers.Add(1) == 1 {
			panic(http.ErrAbortHandler) // cuts the connection
		}
		return nil
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	return server.URL
}
