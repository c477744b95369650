package flow_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/flow"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/waiting"
)

const (
	folderVar = "SEMEL_FLOW_FOLDER" // makes the test binary a process of the shop
	pointVar  = "SEMEL_FLOW_POINT"  // where it dies, for one order; empty for many orders until it is killed
	failVar   = "SEMEL_FLOW_FAIL"   // the last step fails for good

	shortLease  = time.Second
	loadedLease = 2 * time.Second
)

func TestMain(m *testing.M) {
	if folder := os.Getenv(folderVar); folder != "" {
		var err error
		if name := os.Getenv(trialVar); name != "" {
			run, _ := strconv.Atoi(os.Getenv(runVar))
			err = dies(folder, name, run)
		} else {
			err = process(folder, os.Getenv(pointVar), os.Getenv(failVar) != "")
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func killOptions(lease time.Duration) shopOptions {
	return shopOptions{policy: semel.Policy{Lease: lease, Wait: 20 * time.Second}, charge: []flow.Option{flow.CalleeDedupes(time.Hour)}}
}

// process is one process of the shop.
func process(folder, point string, fail bool) error {
	ctx := context.Background()
	lease := shortLease
	if point == "" {
		lease = loadedLease
	}
	s, err := newShop(ctx, folder, killOptions(lease))
	if err != nil {
		return err
	}
	defer s.close()
	if fail {
		s.points = noSuchCustomer
	}
	if point != "" {
		s.at = func(at string) {
			if at == point {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {} // until it arrives
			}
		}
		_, err := flow.Start(ctx, s.flows, s.order, adasKey, ada)
		return err
	}
	front, err := openFront(s)
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	seats := make(chan struct{}, 8)
	for i := range orders() {
		all.Go(func() {
			seats <- struct{}{}
			defer func() { <-seats }()
			for pause := range waiting.Backoffs() {
				if front.serve(ctx, i) == nil || !waiting.Sleep(ctx, pause) {
					return
				}
			}
		})
	}
	all.Wait()
	return nil
}

// orders of a storm.
func orders() int { return claimtest.Times(60, 500, 500) }

func noSuchCustomer() error { return semel.MarkFinal(errors.New("no such customer")) }

func numbered(i int) semel.Key { return semel.Key{Scope: "ada", Name: strconv.Itoa(i)} }

func child(t *testing.T, folder string, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(append(os.Environ(), folderVar+"="+folder), env...)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// TestKilledAtEveryPoint: a process dies by kill -9 at each point of the flow, and
// another one finishes it: each step has happened once (promises 3 and 4).
func TestKilledAtEveryPoint(t *testing.T) {
	t.Parallel()
	forward := []string{
		"begun", "before orders", "after orders", "order inserted", "before stock", "after stock", "stock taken",
		"before charge", "after charge", "charged", "before points", "after points", "points added",
	}
	backward := []string{"after points", "before refund", "after refund", "before undo stock", "after undo stock", "before undo orders", "after undo orders"}
	for _, point := range forward {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			killedAt(t, point, false)
		})
	}
	for _, point := range backward {
		t.Run("undoing/"+point, func(t *testing.T) {
			t.Parallel()
			killedAt(t, point, true)
		})
	}
}

func killedAt(t *testing.T, point string, fail bool) {
	t.Helper()
	folder := t.TempDir()
	env := []string{pointVar + "=" + point}
	if fail {
		env = append(env, failVar+"=1")
	}
	if err := child(t, folder, env...).Wait(); err == nil {
		t.Fatalf("the process was not killed at %q", point)
	}
	s := openIn(t, folder, killOptions(shortLease))
	if fail {
		s.points = noSuchCustomer
	}
	_, err := s.start(t)
	if !fail {
		if err != nil {
			t.Fatal(err)
		}
		s.want(t, once)
		return
	}
	if err == nil {
		t.Fatal("the flow has not failed")
	}
	s.want(t, books{rows: 6})
}

// TestKilledAtRandom: many orders at a time and their payments, behind handlers with transactions of
// their own, in processes that are killed again and again; every order leaves its books once.
func TestKilledAtRandom(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for range claimtest.Times(5, 25, 60) {
		cmd := child(t, folder)
		<-time.After(100*time.Millisecond + rand.N(500*time.Millisecond))
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	if err := child(t, folder).Wait(); err != nil {
		t.Fatal(err)
	}
	s := openIn(t, folder, killOptions(loadedLease))
	front, err := openFront(s)
	if err != nil {
		t.Fatal(err)
	}
	n := orders()
	for i := range n {
		if err := front.serve(t.Context(), i); err != nil {
			t.Errorf("order %d: %v", i, err)
		}
	}
	s.want(t, books{orders: n, stock: -n, charges: n * ada.Amount, points: n * ada.Amount, rows: 4 * n})
	for query, want := range map[string]int{
		"SELECT SUM(n) FROM mails":    2 * n, // from the front, and of the payment
		"SELECT SUM(n) FROM payments": n * ada.Amount,
	} {
		var got int
		if err := s.db.QueryRowContext(t.Context(), query).Scan(&got); err != nil || got != want {
			t.Errorf("%s: got %d, %v, want %d", query, got, err, want)
		}
	}
	var sent int
	if err := s.service.QueryRowContext(t.Context(), "SELECT SUM(n) FROM shipments").Scan(&sent); err != nil || sent != n*ada.Amount {
		t.Errorf("shipped %d, %v, want %d", sent, err, n*ada.Amount)
	}
}
