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

	clientLimit = 10 * time.Second // of one request
	callerLimit = 30 * time.Second // of all that it takes to get an answer
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
func (st *stage) gateways(ctx context.Context, e errand) (*cast, error) {
	rules := filepath.Join(st.dir, "rules.yaml")
	if err := os.WriteFile(rules, fmt.Appendf(nil, rulesText, e.Run), 0o600); err != nil {
		return nil, err
	}
	fronts := gateways
	if e.Store == logged {
		fronts = 1 // a log belongs to one process
	}
	addresses, err := dbserver.FreeAddresses(ctx, fronts+1)
	if err != nil {
		return nil, err
	}
	app, addresses := addresses[0], addresses[1:]
	behind := e
	behind.Kind, behind.Address = kindApp, app
	company := &cast{children: []*child{st.child(behind)}}
	for _, front := range addresses {
		company.children = append(company.children, &child{start: func(ctx context.Context) *exec.Cmd {
			return exec.CommandContext(ctx, st.binary, "gateway", "--upstream", "http://"+app, //nolint:gosec // our own binary.
				"--listen", front, "--admin", "off", "--store", e.DSN, "--rules", rules)
		}})
	}
	for _, c := range company.children {
		if err := c.up(ctx); err != nil {
			return nil, err
		}
	}
	asking, stop := context.WithCancel(ctx)
	asked := make(chan error, 1)
	go func() { asked <- e.askGateways(asking, addresses) }()
	company.end = func() error {
		stop()
		err := <-asked
		for _, c := range company.children {
			c.kill()
		}
		return err
	}
	return company, nil
}

// askGateways posts to the gateways, as often as it takes to get an answer.
func (e *errand) askGateways(ctx context.Context, fronts []string) error {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: callers}, Timeout: clientLimit}
	defer client.CloseIdleConnections()
	return e.ask(ctx, callers, func(ctx context.Context, a *asker, w wish) word {
		ctx, cancel := context.WithTimeout(ctx, callerLimit)
		defer cancel()
		for {
			said, err := post(ctx, client, oneOf(a.random, fronts), w)
			if err == nil {
				return said
			}
			if !waiting.Sleep(ctx, around(a.random, 50*time.Millisecond)) {
				return word{Said: wordNothing, Error: err.Error()}
			}
		}
	})
}

// post sends the wish once. An answer that says neither what happened nor that
// this is unknown is an error.
func post(ctx context.Context, client *http.Client, front string, w wish) (word, error) {
	body, err := json.Marshal(w)
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
