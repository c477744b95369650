package client_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/semel-dev/semel/examples/mathematicians"
	"github.com/semel-dev/semel/examples/mathematicians/client"
	"github.com/semel-dev/semel/internal/claimtest"
)

// The role and the settings of a child process.
const (
	envChild   = "SEMEL_MATHEMATICIANS_CHILD" // server or client
	envFile    = "SEMEL_MATHEMATICIANS_FILE"
	envAddress = "SEMEL_MATHEMATICIANS_ADDRESS"
	envKillAt  = "SEMEL_MATHEMATICIANS_KILL_AT" // the client's instant, from 1; 0 for none

	families = 6 // mathematicians that the client adds, each with two papers
)

func TestMain(m *testing.M) {
	child := map[string]func() error{"server": serverChild, "client": clientChild}[os.Getenv(envChild)]
	if child == nil {
		goleak.VerifyTestMain(m)
		return
	}
	if err := child(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serverChild serves until it is killed.
func serverChild() error {
	server, err := mathematicians.Open(os.Getenv(envFile), nil)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", os.Getenv(envAddress)) //nolint:noctx // it ends with the process.
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, "ready")
	return http.Serve(listener, server)
}

// clientChild adds everything, though it may have been added, and sends.
func clientChild() error {
	killAt, err := strconv.ParseInt(os.Getenv(envKillAt), 10, 64)
	if err != nil {
		return err
	}
	queue, err := client.Open(os.Getenv(envFile), "http://"+os.Getenv(envAddress), &client.Options{
		Transport:  &killer{at: killAt},
		FirstPause: time.Millisecond, MostPause: 50 * time.Millisecond, Timeout: time.Second,
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, "ready")
	ctx := context.Background()
	if err := addFamilies(ctx, queue); err != nil {
		return err
	}
	if _, err := queue.Sync(ctx); err != nil {
		return err
	}
	return queue.Close()
}

// addFamilies adds papers and their authors under refs of their own.
func addFamilies(ctx context.Context, queue *client.Queue) error {
	var errs []error
	for i := range families {
		author := "author " + strconv.Itoa(i)
		_, err := queue.Add(ctx, client.Entry{Ref: author, Kind: client.Mathematician, Text: author})
		errs = append(errs, err)
		for j := range 2 {
			title := fmt.Sprintf("paper %d of %s", j, author)
			_, err := queue.Add(ctx, client.Entry{Ref: title, Kind: client.Paper, Parent: author, Text: title})
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// killer ends its process by SIGKILL at an instant: before a request is sent, or after its answer came and before it was
// read.
type killer struct {
	at  int64
	now atomic.Int64
}

// RoundTrip implements http.RoundTripper.
func (k *killer) RoundTrip(r *http.Request) (*http.Response, error) {
	k.pass()
	reply, err := http.DefaultTransport.RoundTrip(r)
	k.pass()
	return reply, err
}

func (k *killer) pass() {
	if k.now.Add(1) != k.at {
		return
	}
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	fmt.Fprintln(os.Stderr, "could not kill myself:", err)
	select {}
}

var noError = claimtest.NoError
