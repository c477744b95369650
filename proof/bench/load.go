package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/semel-dev/semel/internal/waiting"
)

// load sends requests over many keep-alive connections.
type load struct {
	url         string
	connections int
	prefix      string // of the keys; empty for GETs without one
	body        string // of requests with a key
	serial      atomic.Int64
	patient     bool         // comes again, after Retry-After, when it is refused
	refused     atomic.Int64 // so often
	client      *http.Client
}

func newLoad(url string, connections int, prefix string) *load {
	return &load{url: url, connections: connections, prefix: prefix, body: postBody, client: &http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: connections, MaxConnsPerHost: connections},
		Timeout:   30 * time.Second,
	}}
}

func (l *load) close() { l.client.CloseIdleConnections() }

// run sends n requests, each with a fresh key.
func (l *load) run(ctx context.Context, n int) error {
	return spread(ctx, l.connections, n, l.one)
}

// rate returns how many requests a second were answered, after a time to warm
// up. Callers that wait to come again when the time is over do not count.
func (l *load) rate(ctx context.Context, warmUp, length time.Duration) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, warmUp+length)
	defer cancel()
	var done atomic.Int64
	var failed atomic.Pointer[error]
	var all sync.WaitGroup
	for range l.connections {
		all.Go(func() {
			for ctx.Err() == nil {
				if err := l.one(ctx); err == nil {
					done.Add(1)
				} else if ctx.Err() == nil {
					failed.Store(&err)
					return
				}
			}
		})
	}
	waiting.Sleep(ctx, warmUp)
	before, began := done.Load(), time.Now()
	waiting.Sleep(ctx, length)
	rate := float64(done.Load()-before) / time.Since(began).Seconds()
	all.Wait()
	if err := failed.Load(); err != nil {
		return 0, *err
	}
	return rate, nil
}

func (l *load) one(ctx context.Context) error {
	method, body := http.MethodGet, io.Reader(nil)
	if l.prefix != "" {
		method, body = http.MethodPost, strings.NewReader(l.body)
	}
	r, err := http.NewRequestWithContext(ctx, method, l.url, body)
	if err != nil {
		return err
	}
	if l.prefix != "" {
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", l.prefix+strconv.FormatInt(l.serial.Add(1), 10))
	}
	status, again, err := l.send(r)
	for err == nil && l.patient && again > 0 {
		l.refused.Add(1)
		if waiting.Sleep(ctx, again); ctx.Err() != nil {
			return ctx.Err()
		}
		r.Body = io.NopCloser(strings.NewReader(l.body))
		status, again, err = l.send(r)
	}
	if err != nil {
		return err
	}
	if status != http.StatusCreated {
		return fmt.Errorf("%s: got status %d, want 201", l.url, status)
	}
	return nil
}

// send returns the answer's status, and when to come again if it says so.
func (l *load) send(r *http.Request) (status int, again time.Duration, err error) {
	resp, err := l.client.Do(r)
	if err != nil {
		return 0, 0, err
	}
	defer shut(resp.Body)
	seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After")) // our own, or absent
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, time.Duration(seconds) * time.Second, err
}
