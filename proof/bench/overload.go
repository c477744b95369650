package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/internal/cli/openstore"
)

const (
	aimOverload    = 0.85
	overloadRounds = 3
	overloadLength = 10 // rounds of other sections
	overloadWarmUp = time.Second
)

// overloadCallers returns the numbers of callers at a time: few, about as many
// as reach the best rate, and ten times as many as that.
func overloadCallers() []int { return []int{connections / 4, 4 * connections, 40 * connections} }

// benchOverload sends through gateways on every available store, by ever more callers, which respect Retry-After.
func benchOverload(ctx context.Context, s *settings) (*table, error) {
	upstream := httptest.NewServer(http.HandlerFunc(invoiceHandler))
	defer upstream.Close()
	stores, forget, err := overloadStores(ctx, s)
	if err != nil {
		return nil, err
	}
	defer forget()
	t := &table{Title: fmt.Sprintf("overload: POST with a fresh key through the gateway, %v callers", overloadCallers())}
	for _, store := range stores {
		rows, err := overloadOf(ctx, s, store.name, store.dsn, upstream.URL)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", store.name, err)
		}
		t.Rows = append(t.Rows, rows...)
	}
	return t, nil
}

type namedStore struct{ name, dsn string }

// overloadStores returns the stores that are at hand; forget removes what was made for them.
func overloadStores(ctx context.Context, s *settings) (stores []namedStore, forget func(), err error) {
	stores, forget = []namedStore{
		{"SQLite", "sqlite:" + filepath.Join(s.Dir, "overload.db")}, {"log", "log:" + filepath.Join(s.Dir, "overload.log")},
	}, func() {}
	if dsn := os.Getenv("SEMEL_TEST_POSTGRES"); dsn != "" {
		stores = append(stores, namedStore{"PostgreSQL", dsn})
	}
	if address := os.Getenv("SEMEL_TEST_REDIS"); address != "" {
		stores = append(stores, namedStore{"Redis", "redis://" + address})
	}
	config, drop, err := mysqlDatabase(ctx)
	if errors.Is(err, errNoServer) {
		return stores, forget, nil
	} else if err != nil {
		return nil, nil, err
	}
	u := url.URL{Scheme: "mysql", User: url.UserPassword(config.User, config.Passwd), Host: config.Addr, Path: config.DBName}
	return append(stores, namedStore{"MariaDB", u.String()}), drop, nil
}

// overloadOf sends by each number of callers for a while, in turn, and compares the rate of the last with the best.
func overloadOf(ctx context.Context, s *settings, name, dsn, upstream string) ([]row, error) {
	store, err := openstore.Open(ctx, dsn, nil)
	if err != nil {
		return nil, err
	}
	defer shut(store)
	gw, err := gateway.New(&gateway.Config{Upstream: upstream, Store: store})
	if err != nil {
		return nil, err
	}
	defer shut(gw)
	front := httptest.NewServer(gw.Handler())
	defer front.Close()
	rates := make([][]float64, len(overloadCallers()))
	refused := make([]int64, len(rates))
	for round := range overloadRounds {
		for i, callers := range overloadCallers() {
			l := newLoad(front.URL+"/invoices", callers, fmt.Sprintf("%d-%d-", callers, round))
			l.patient = true
			rate, err := l.rate(ctx, overloadWarmUp, s.Round*overloadLength)
			l.close()
			if err != nil {
				return nil, err
			}
			rates[i], refused[i] = append(rates[i], rate), refused[i]+l.refused.Load()
		}
	}
	rows := make([]row, len(rates))
	best, last := 0, len(rates)-1
	for i, callers := range overloadCallers() {
		rate := valueOf(rates[i]).Median
		if rate > valueOf(rates[best]).Median {
			best = i
		}
		rows[i] = row{
			Subject: fmt.Sprintf("%s, %d callers", name, callers),
			Time:    fmt.Sprintf("%.0f/s", rate), Allocs: fmt.Sprintf("%d refused", refused[i]),
		}
	}
	ratio := ratioOf(rates[last], rates[best])
	rows[last].Against, rows[last].Aim = fmt.Sprintf("%v × the best rate", ratio), fmt.Sprintf("≥ %.1f ×", aimOverload)
	rows[last].Met = ratio.AtLeast(aimOverload)
	return rows, nil
}
