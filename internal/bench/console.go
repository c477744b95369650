package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/internal/adminapi"
	"github.com/semel-dev/semel/internal/bench/contest"
	"github.com/semel-dev/semel/internal/console"
	"github.com/semel-dev/semel/store/sqlitestore"
)

const (
	// liveReaders is the bound of pages that follow the console's numbers, which takes so many operators, and aimReaders the
	// percentage of the processors that they may take.
	liveReaders   = 32
	liveOperators = 4
	aimReaders    = 1
	readerPosts   = 20_000
	readerTime    = 10 * time.Second
	benchToken    = "bench-0123456789abcdef0123456789abcdef"
)

// benchConsole measures the processor time of POSTs with a key, and of all readers of the console's event stream. A rate with and
// without them differs by more than they cost from one run to the next.
func benchConsole(ctx context.Context, s *contest.Settings) (*contest.Table, error) {
	upstream := serve(http.HandlerFunc(invoiceHandler))
	defer upstream.Close()
	store, err := sqlitestore.Open(ctx, filepath.Join(s.Dir, "console.db"), nil)
	if err != nil {
		return nil, err
	}
	defer shut(store)
	var tokens []adminapi.Token
	for i := range liveOperators {
		token, err := adminapi.NewToken("bench"+strconv.Itoa(i), benchToken+strconv.Itoa(i), true)
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, token)
	}
	gw, err := gateway.New(&gateway.Config{Upstream: upstream.URL, Store: store, AdminTokens: tokens})
	if err != nil {
		return nil, err
	}
	defer shut(gw)
	front, admin := serve(gw.Handler()), serve(gw.AdminHandler())
	defer front.Close()
	defer admin.Close()
	var followers []*http.Client
	for i := range liveOperators {
		follower, err := logIn(ctx, admin.URL, benchToken+strconv.Itoa(i))
		if err != nil {
			return nil, err
		}
		defer follower.CloseIdleConnections()
		followers = append(followers, follower)
	}

	l := newLoad(front.URL+"/invoices", connections, "c-")
	defer l.close()
	post, err := processorTime(func() error { return l.run(ctx, readerPosts) })
	if err != nil {
		return nil, err
	}
	runtime.GC()
	if err := trickle(ctx, l); err != nil { // what the load left to be done is over then
		return nil, err
	}
	alone, err := processorTime(func() error { return trickle(ctx, l) })
	if err != nil {
		return nil, err
	}
	leave, err := follow(ctx, followers, admin.URL)
	if err != nil {
		return nil, err
	}
	defer leave()
	followed, err := processorTime(func() error { return trickle(ctx, l) })
	if err != nil {
		return nil, err
	}
	share := (followed - alone) / float64(readerTime.Nanoseconds()) / float64(runtime.NumCPU())
	return &contest.Table{Title: fmt.Sprintf("%d readers of the console's event stream, on a gateway on sqlite; processor time of load, gateway and upstream together", liveReaders), Rows: []contest.Row{
		{Subject: "a POST with a key, " + strconv.Itoa(connections) + " connections", Time: contest.NanosText(post / readerPosts)},
		{
			Subject: "all readers, for a second", Time: contest.NanosText((followed - alone) / readerTime.Seconds()),
			Against: fmt.Sprintf("%.2f %% of the %d processors, and so of the rate that they serve", 100*share, runtime.NumCPU()),
			Aim:     fmt.Sprintf("≤ %d %%", aimReaders), Met: contest.VerdictOf(share <= float64(aimReaders)/100),
		},
	}}, nil
}

// trickle sends a POST every second, so that there is something to follow.
func trickle(ctx context.Context, l *load) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for range int(readerTime / time.Second) {
		if err := l.one(ctx); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// processorTime returns the nanoseconds that this process computed during work: readers, load, gateway and upstream. Unlike a
// rate, it does not count what other programs of the machine take.
func processorTime(work func() error) (float64, error) {
	var before, after syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &before); err != nil {
		return 0, err
	}
	if err := work(); err != nil {
		return 0, err
	}
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &after); err != nil {
		return 0, err
	}
	return float64(after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano()), nil
}

// logIn returns a client with a session of the console.
func logIn(ctx context.Context, admin, token string) (*http.Client, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	client := &http.Client{Jar: jar, Transport: &http.Transport{}}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, admin+console.Path+"login", strings.NewReader(url.Values{"token": {token}}.Encode()))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer shut(answer.Body)
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("log in to the console: status %d", answer.StatusCode)
	}
	return client, nil
}

// follow starts all readers; leave ends them.
func follow(ctx context.Context, clients []*http.Client, admin string) (leave func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{}, liveReaders)
	running := 0
	leave = func() {
		cancel()
		for range running {
			<-done
		}
	}
	for i := range liveReaders {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, admin+console.Path+"live", nil)
		if err != nil {
			leave()
			return nil, err
		}
		answer, err := clients[i%len(clients)].Do(r) //nolint:bodyclose // its reader does, or the branch below.
		if err == nil && answer.StatusCode != http.StatusOK {
			shut(answer.Body)
			err = fmt.Errorf("follow the console: status %d", answer.StatusCode)
		}
		if err != nil {
			leave()
			return nil, err
		}
		running++
		go func() {
			defer func() { done <- struct{}{} }()
			defer shut(answer.Body)
			_, _ = io.Copy(io.Discard, answer.Body) // until it leaves
		}()
	}
	return leave, nil
}
