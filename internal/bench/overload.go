package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/internal/openstore"
)

const aimOverload = 0.8

// overloadCallers are how many send at a time; the last is ten times as many as
// give the best rate on any of the stores here, or more.
func overloadCallers() []int { return []int{connections, 10 * connections, 100 * connections} }

// benchOverload sends through gateways on every store that is at hand, by ever
// more callers, who come again when they are told to.
func benchOverload(ctx context.Context, s *settings) (*table, error) {
	upstream := serve(http.HandlerFunc(invoiceHandler))
	defer upstream.Close()
	stores, forget, err := overloadStores(ctx, s)
	if err != nil {
		return nil, err
	}
	defer forget()
	t := &table{title: fmt.Sprintf("overload: POST with a fresh key through the gateway, %v callers", overloadCallers())}
	for _, store := range stores {
		rows, err := overloadOf(ctx, s, store.name, store.dsn, upstream.URL)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", store.name, err)
		}
		t.rows = append(t.rows, rows...)
	}
	return t, nil
}

type namedStore struct{ name, dsn string }

// overloadStores returns the stores that are at hand; forget removes what was
// made for them.
func overloadStores(ctx context.Context, s *settings) (stores []namedStore, forget func(), err error) {
	stores, forget = []namedStore{{"SQLite", "sqlite:" + filepath.Join(s.dir, "overload.db")}}, func() {}
	if dsn := os.Getenv("SEMEL_TEST_POSTGRES"); dsn != "" {
		stores = append(stores, namedStore{"PostgreSQL", dsn})
	}
	if address := os.Getenv("SEMEL_TEST_REDIS"); address != "" {
		stores = append(stores, namedStore{"Redis", "redis://" + address})
	}
	dsn := os.Getenv("SEMEL_TEST_MYSQL")
	if dsn == "" {
		return stores, forget, nil
	}
	config, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, nil, err
	}
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		return nil, nil, err
	}
	name := "bench_" + strings.ToLower(rand.Text()[:8])
	if _, err := db.ExecContext(ctx, "CREATE DATABASE "+name); err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	u := url.URL{Scheme: "mysql", User: url.UserPassword(config.User, config.Passwd), Host: config.Addr, Path: name}
	return append(stores, namedStore{"MariaDB", u.String()}), func() {
		if _, err := db.ExecContext(context.WithoutCancel(ctx), "DROP DATABASE "+name); err != nil {
			say(os.Stderr, "bench: %v\n", err)
		}
		shut(db)
	}, nil
}

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
	front := serve(gw.Handler())
	defer front.Close()
	var loads []*load
	var subjects []subject
	for _, callers := range overloadCallers() {
		l := newLoad(front.URL+"/invoices", callers, fmt.Sprintf("%d-", callers))
		l.patient = true
		defer l.close()
		loads, subjects = append(loads, l), append(subjects, subject{fmt.Sprintf("%s, %d callers", name, callers), l.run})
	}
	long := *s // every caller has its turn
	long.round, long.rounds = 10*s.round, min(3, s.rounds)
	samples, err := measure(ctx, &long, subjects)
	if err != nil {
		return nil, err
	}
	rows := make([]row, len(samples))
	best := samples[0].nanos
	for i, sample := range samples {
		rows[i] = row{subject: subjects[i].name, time: nanosText(sample.nanos), allocs: fmt.Sprintf("%s; %d refused", allocsText(sample.allocs), loads[i].refused.Load())}
		best = min(best, sample.nanos)
	}
	last := len(rows) - 1
	ratio := best / samples[last].nanos
	rows[last].against, rows[last].aim = fmt.Sprintf("%.2f × the best rate", ratio), fmt.Sprintf("≥ %.1f ×", aimOverload)
	rows[last].met = verdictOf(ratio >= aimOverload)
	return rows, nil
}
