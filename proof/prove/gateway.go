package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/semel-dev/semel/internal/testserver/dbserver"
	"github.com/semel-dev/semel/internal/waiting"
	"github.com/semel-dev/semel/semelhttp"
)

const (
	gateways = 2
	callers  = 16

	impatience  = 20 * time.Millisecond // of a client that vanishes
	clientLimit = 10 * time.Second      // of one request
	callerLimit = 30 * time.Second      // of all that it takes to get an answer
)

// rulesText takes an answer of 500 for what it is from an application that
// may fail after its effect.
const rulesText = `version: 1
routes:
  - name: all
    match: {path: "/{rest...}"}
    scope: {constant: %s}
    on_5xx: unknown
    lease: 3s
    wait: 1s
`

// gateways starts an application, gateways before it and callers, which ask in
// this process.
func (st *stage) gateways(ctx context.Context, e errand, p *target, long time.Duration) (*cast, error) {
	rules := filepath.Join(st.dir, "rules.yaml")
	if err := os.WriteFile(rules, fmt.Appendf(nil, rulesText, e.Run), 0o600); err != nil {
		return nil, err
	}
	n := gateways
	if e.Store == logged {
		n = 1 // a log belongs to one process
	}
	addresses, err := dbserver.FreeAddresses(ctx, 2*n+1)
	if err != nil {
		return nil, err
	}
	app, admins, fronts := addresses[0], addresses[1:1+n], addresses[1+n:]
	company, flags := &cast{}, func(int) []string { return []string{"--admin", "off"} }
	if e.Kind == kindSoak {
		if company.soak, err = newSoak(st.dir, p.files, admins); err != nil {
			return nil, err
		}
		flags = company.soak.flags
	}
	behind := e
	behind.Kind, behind.Address = kindApp, app
	all := []*child{st.child(behind)}
	for i, front := range fronts {
		args := []string{"gateway", "--upstream", "http://" + app, "--listen", front, "--store", e.DSN, "--rules", rules}
		all = append(all, &child{start: func(ctx context.Context) *exec.Cmd {
			return exec.CommandContext(ctx, st.binary, append(args, flags(i)...)...) //nolint:gosec // our own binary.
		}})
	}
	for _, c := range all {
		if err := c.up(ctx); err != nil {
			return nil, err
		}
	}
	company.children = all
	ask := func(ctx context.Context) error { return e.askGateways(ctx, fronts) }
	if company.soak != nil {
		company.children, company.soak.gateways = all[:1], all[1:] // only the application is killed
		ask = func(ctx context.Context) error { return company.soak.run(ctx, e, fronts, long) }
		if err := company.soak.measure(ctx, e, fronts, long); err != nil {
			return nil, err
		}
	}
	asking, stop := context.WithCancel(ctx)
	asked := make(chan error, 1)
	go func() { asked <- ask(asking) }()
	company.end = func() error {
		stop()
		err := <-asked
		for _, c := range all {
			c.kill()
		}
		return err
	}
	return company, nil
}

// askGateways posts to the gateways, as often as it takes to get an answer.
// At times one hangs up, and comes again.
func (e *errand) askGateways(ctx context.Context, fronts []string, changes ...func(*asker)) error {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: e.Hands}, Timeout: clientLimit}
	defer client.CloseIdleConnections()
	return e.ask(ctx, e.Hands, func(ctx context.Context, a *asker, w wish) word {
		ctx, cancel := context.WithTimeout(ctx, callerLimit)
		defer cancel()
		if a.random.IntN(20) == 0 {
			hasty, cancel := context.WithTimeout(ctx, around(a.random, impatience))
			_, _ = post(hasty, client, oneOf(a.random, fronts), w) // it does not listen
			cancel()
		}
		for {
			said, err := post(ctx, client, oneOf(a.random, fronts), w)
			if err == nil {
				return said
			}
			if !waiting.Sleep(ctx, around(a.random, 50*time.Millisecond)) {
				return word{Said: wordNothing, Error: err.Error()}
			}
		}
	}, changes...)
}

// post sends the wish once. An answer that says neither what happened nor that
// this is unknown is an error.
func post(ctx context.Context, client *http.Client, front string, w wish) (word, error) {
	body, err := json.Marshal(wish{Key: w.Key}) // the same for every wish: gateways cancel nothing
	if err != nil {
		return word{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+front+"/effects", bytes.NewReader(body))
	if err != nil {
		return word{}, err
	}
	req.Host = "shop.test"                          // the same for every gateway: it is part of the scope
	req.Header["idempotency-key"] = []string{w.Key} // net/http repeats a request with the canonical name on its own
	res, err := client.Do(req)
	if err != nil {
		return word{}, err
	}
	defer func() { _ = res.Body.Close() }() // read to the end
	answer, err := io.ReadAll(io.LimitReader(res.Body, 1<<16))
	switch {
	case err != nil:
		return word{}, err
	case res.StatusCode == http.StatusCreated:
		return word{Said: wordDone, Value: string(answer)}, nil
	case strings.Contains(string(answer), "outcome-unknown"), res.Header.Get(semelhttp.StatusHeader) == wordUnknown:
		return word{Said: wordUnknown}, nil
	}
	return word{}, errors.New(res.Status)
}
