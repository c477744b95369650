package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/semel-dev/semel/internal/mayhem"
	"github.com/semel-dev/semel/semelhttp"
)

const (
	gateways = 2
	callers  = 32
	twins    = 3                // callers that want the same intent
	patience = 30 * time.Second // of one caller
)

// rulesText makes the gateway as careful as an application deserves that
// answers 5xx when it does not know.
const rulesText = `version: 1
routes:
  - name: all
    match: {path: "/{rest...}"}
    scope: {constant: torture}
    on_5xx: unknown
    lease: 3s
    wait: 2s
`

// runGateway tortures the real binary in front of an application.
func runGateway(ctx context.Context, s *settings, b backend, long time.Duration, random *rand.Rand) (result, error) {
	rules := filepath.Join(s.dir, "rules.yaml")
	if err := os.WriteFile(rules, []byte(rulesText), 0o600); err != nil {
		return result{}, err
	}
	addresses, err := freeAddresses(ctx, gateways+1)
	if err != nil {
		return result{}, err
	}
	app, fronts := addresses[0], addresses[1:]
	m := &trouble{backend: b, random: random, killsIn: 300 * time.Millisecond}
	driver, rows := b.business()
	m.children = append(m.children, &mayhem.Child{Log: s.log, Start: func(ctx context.Context) *exec.Cmd {
		return exec.CommandContext(ctx, s.self, childApp, app, driver, rows) //nolint:gosec // this program.
	}})
	for _, front := range fronts {
		m.children = append(m.children, &mayhem.Child{Log: s.log, Start: func(ctx context.Context) *exec.Cmd {
			cmd := exec.CommandContext(ctx, s.binary, "gateway", "--upstream", "http://"+app, //nolint:gosec // our own binary.
				"--listen", front, "--admin", "off", "--store", b.dsn(), "--rules", rules)
			cmd.Stderr = io.Discard
			return cmd
		}})
	}
	for _, c := range m.children {
		if err := c.Up(ctx); err != nil {
			return result{}, err
		}
	}
	l := newLedger()
	err = m.drive(ctx, &crowd{ledger: l, fronts: fronts}, long)
	for _, c := range m.children {
		c.Kill()
	}
	if err != nil {
		return result{}, err
	}
	l.result.kills, l.result.crashes, l.result.cuts = m.kills, m.crashes, m.cuts
	found, err := readRows(ctx, b)
	if err != nil {
		return result{}, err
	}
	return l.check(found, nil)
}

// drive lets the crowd want things while mayhem reigns, and then get their
// answers in peace.
func (m *trouble) drive(ctx context.Context, c *crowd, long time.Duration) error {
	var wg sync.WaitGroup
	calm, stop := context.WithCancel(ctx)
	for range callers {
		seed := m.random.Uint64()
		wg.Go(func() { c.want(calm, ctx, rand.New(rand.NewPCG(seed, 0))) }) //nolint:gosec // instants, not secrets.
	}
	err := m.run(ctx, long)
	stop()
	wg.Wait()
	return err
}

// crowd are the callers.
type crowd struct {
	ledger *ledger
	fronts []string
	next   atomic.Int64
}

// want sends one intent after the other; every twins callers want the same.
func (c *crowd) want(more, ctx context.Context, random *rand.Rand) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4}, Timeout: 10 * time.Second}
	defer client.CloseIdleConnections()
	for more.Err() == nil {
		key := strconv.FormatInt(c.next.Add(1)/twins, 10)
		ctx, cancel := context.WithTimeout(ctx, patience)
		for !c.ask(ctx, client, key, c.fronts[random.IntN(len(c.fronts))]) && mayhem.Sleep(ctx, mayhem.Around(random, 50*time.Millisecond)) {
			c.ledger.note(wordError)
		}
		cancel()
	}
}

// ask sends the intent once, and reports whether the answer is definite.
func (c *crowd) ask(ctx context.Context, client *http.Client, key, front string) bool {
	body, err := json.Marshal(map[string]string{"name": key})
	if err != nil {
		return false
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+front+"/rows", bytes.NewReader(body))
	if err != nil {
		return false
	}
	req.Host = "shop.test"                        // the same behind every gateway: it is part of the scope
	req.Header["idempotency-key"] = []string{key} // net/http resends by itself what has the canonical name
	res, err := client.Do(req)
	if err != nil {
		return false
	}
	defer func() { _ = res.Body.Close() }() // read to the end
	answer, err := io.ReadAll(io.LimitReader(res.Body, 1<<16))
	if err != nil {
		return false
	}
	switch {
	case res.StatusCode == http.StatusCreated:
		word := wordExecuted
		if res.Header.Get(semelhttp.ReplayedHeader) != "" {
			word = wordReplayed
		}
		c.ledger.note(fmt.Sprintf("%s %s %s", word, key, bytes.TrimSpace(answer)))
		return true
	case strings.Contains(string(answer), "outcome-unknown"), res.Header.Get(semelhttp.StatusHeader) == wordUnknown:
		c.ledger.note(wordUnknown)
		return true
	}
	return false
}

// freeAddresses returns loopback addresses on which nobody listens.
func freeAddresses(ctx context.Context, n int) (out []string, err error) {
	var lc net.ListenConfig
	for range n {
		ln, listenErr := lc.Listen(ctx, "tcp", "127.0.0.1:0")
		if listenErr != nil {
			return nil, errors.Join(err, listenErr)
		}
		out = append(out, ln.Addr().String())
		defer func() { err = errors.Join(err, ln.Close()) }()
	}
	return out, err
}
