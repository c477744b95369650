package services

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/semel-dev/semel/ids"
)

const (
	retryPause = 200 * time.Millisecond
	patience   = 30 * time.Second // of a customer
	quiet      = 3 * ackWait / 2  // without any change: longer than the broker waits for an acknowledgement
	late       = 20 * time.Second // the same when something is missing
	lookPause  = 100 * time.Millisecond
)

// Order sends one order as a customer's app does: again and again with the same
// key until it is answered.
func (f *Fleet) Order(ctx context.Context, customer string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	body, err := json.Marshal(&order{Customer: customer, Item: "kettle", Coupon: "autumn"})
	if err != nil {
		return err
	}
	key := (&ids.UUIDs{}).New().String()
	for {
		if err = f.send(ctx, key, body); err == nil {
			return nil
		}
		if !pause(ctx, retryPause) {
			return fmt.Errorf("the order was not answered within %s: %w", patience, err)
		}
	}
}

func (f *Fleet) send(ctx context.Context, key string, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.config.url(roleOrders, "/orders"), bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.GetBody = nil // the client sends again, not net/http behind its back
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", strconv.Quote(key))
	resp, err := f.client.Do(req)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusCreated {
		return fmt.Errorf("%s: %s", resp.Status, text)
	}
	return nil
}

// Result says how one point affected one order.
type Result struct {
	Point   Point
	Reached bool // the fault took place
	Err     string
	Effects Effects
}

// Right reports whether everything happened once.
func (r *Result) Right() bool { return r.Reached && r.Err == "" && r.Effects.once() }

// Play places an order for each of the points, nil for all, and breaks it there.
// done hears what happened.
func (f *Fleet) Play(ctx context.Context, names []string, done func(Result)) error {
	l, err := openLedgers(ctx, &f.config)
	if err != nil {
		return err
	}
	defer func() { _ = l.close() }()
	for i, p := range points() {
		if names != nil && !slices.Contains(names, p.Name) {
			continue
		}
		r, err := f.play(ctx, l, p, fmt.Sprint(i+1))
		if err != nil {
			return err
		}
		done(r)
	}
	return nil
}

func (f *Fleet) play(ctx context.Context, l *ledgers, p Point, customer string) (Result, error) {
	r := Result{Point: p}
	before, err := l.count(ctx)
	if err != nil {
		return r, err
	}
	if err := f.Arm(p.Name); err != nil {
		return r, err
	}
	if err := f.Order(ctx, customer); err != nil {
		r.Err = err.Error()
	}
	after, err := l.settle(ctx, before)
	r.Effects = after.Since(before)
	r.Reached = !f.config.faults().consume(p.Name) // taking it also keeps it from the next order
	return r, err
}

// Arm makes a point wait for the next order.
func (f *Fleet) Arm(name string) error {
	if name == brokerPoint {
		return f.Kill(roleBroker)
	}
	return f.config.faults().arm(name)
}

// settle waits until nothing has changed for a while. What is missing gets longer to come.
func (l *ledgers) settle(ctx context.Context, before Effects) (Effects, error) {
	last, err := l.count(ctx)
	changed := time.Now()
	for err == nil && pause(ctx, lookPause) {
		var now Effects
		if now, err = l.count(ctx); now != last {
			last, changed = now, time.Now()
		}
		wait := quiet
		if slices.Min(last.Since(before).List()) < 1 {
			wait = late
		}
		if time.Since(changed) > wait {
			break
		}
	}
	return last, err
}
