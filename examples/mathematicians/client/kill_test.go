package client_test

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	_ "modernc.org/sqlite"

	"github.com/semel-dev/semel/internal/testserver"
)

// child is a process of this test binary.
type child struct {
	cmd  *exec.Cmd
	done chan error // what it ended with
}

// start runs a child and returns when it is ready, or has ended.
func start(t *testing.T, kind, file, address string, killAt int) *child {
	t.Helper()
	self, err := os.Executable()
	noError(t, err)
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), self)
	cmd.Env = append(os.Environ(), envChild+"="+kind, envFile+"="+file, envAddress+"="+address, envKillAt+"="+strconv.Itoa(killAt))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	noError(t, err)
	noError(t, cmd.Start())
	_, _ = bufio.NewReader(out).ReadString('\n')
	c := &child{cmd, make(chan error, 1)}
	go func() { c.done <- cmd.Wait() }()
	t.Cleanup(c.kill)
	return c
}

// kill sends SIGKILL and waits for the end.
func (c *child) kill() {
	_ = c.cmd.Process.Kill() // it may have ended
	c.wait()
}

// wait returns what the process ended with.
func (c *child) wait() error {
	err := <-c.done
	c.done <- err
	return err
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	noError(t, err)
	defer listener.Close()
	return listener.Addr().String()
}

// row is an entry as the server stores it.
type row struct{ Text, Parent string }

// rowsOf reads the server's file.
func rowsOf(t *testing.T, file string) []row {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	noError(t, err)
	defer db.Close()
	found, err := db.QueryContext(t.Context(), `
		SELECT ltrim(first_name || ' ' || last_name), '' FROM mathematicians
		UNION ALL SELECT p.title, ltrim(m.first_name || ' ' || m.last_name) FROM papers p JOIN mathematicians m ON m.id = p.author
		ORDER BY 1`)
	noError(t, err)
	defer found.Close()
	var rows []row
	for found.Next() {
		var r row
		noError(t, found.Scan(&r.Text, &r.Parent))
		rows = append(rows, r)
	}
	noError(t, found.Err())
	return rows
}

// wanted is one row for each wish of addFamilies.
func wanted() (rows []row) {
	for i := range families {
		rows = append(rows, row{"author " + strconv.Itoa(i), ""})
	}
	for j := range 2 {
		for i := range families {
			author := "author " + strconv.Itoa(i)
			rows = append(rows, row{fmt.Sprintf("paper %d of %s", j, author), author})
		}
	}
	return rows
}

// A client that is killed before and after each of its requests in turn, and begins again, ends with one row for each
// wish, under the right parents.
func TestClientKilledAtEveryRequest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	address := freeAddress(t)
	start(t, "server", filepath.Join(dir, "server.db"), address, 0)
	queue := filepath.Join(dir, "queue.db")
	killed := 0
	for round := 1; ; round++ {
		// Every run gets a little further, and dies at its first, second, third or fourth instant.
		if err := start(t, "client", queue, address, 1+round%4).wait(); err == nil {
			break
		}
		if killed++; killed > 1000 {
			t.Fatal("the client never ends")
		}
	}
	if least := 3 * families; killed < least {
		t.Errorf("the client was killed %d times, want at least %d: the test shows nothing", killed, least)
	}
	if diff := cmp.Diff(wanted(), rowsOf(t, filepath.Join(dir, "server.db"))); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

// Client and server are killed at any instant, and the network between them loses answers; when all is well again, there
// is one row for each wish, under the right parents.
func TestEverythingKilledAtAnyInstant(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	address := freeAddress(t)
	proxy := testserver.NewProxy(t, address)
	queue, file := filepath.Join(dir, "queue.db"), filepath.Join(dir, "server.db")
	server := start(t, "server", file, address, 0)
	for range 20 {
		sender := start(t, "client", queue, proxy.Addr(), 0)
		switch rand.IntN(3) {
		case 0:
			proxy.CutAfter(rand.IntN(400))
		case 1:
			proxy.Cut()
		case 2:
			proxy.Clear()
		}
		instant := time.NewTimer(rand.N(30 * time.Millisecond))
		select {
		case <-instant.C:
		case err := <-sender.done:
			sender.done <- err
		}
		if rand.IntN(2) == 0 {
			server.kill()
			server = start(t, "server", file, address, 0)
		}
		sender.kill()
	}
	proxy.Clear()
	noError(t, start(t, "client", queue, proxy.Addr(), 0).wait())
	if diff := cmp.Diff(wanted(), rowsOf(t, file)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}
