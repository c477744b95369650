package services

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/semel-dev/semel/examples/internal/sqlite"
	"github.com/semel-dev/semel/internal/webhooksig"
)

// The provider's ledger: charges of cards, sent e-mails, and callbacks that were not answered yet.
const providerSchema = `
CREATE TABLE IF NOT EXISTS charges (id INTEGER PRIMARY KEY, idempotency_key TEXT UNIQUE, order_id TEXT NOT NULL, amount INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS mails (id INTEGER PRIMARY KEY, reference TEXT NOT NULL, order_id TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS callbacks (id TEXT PRIMARY KEY, body BLOB NOT NULL)`

const (
	callbackPause   = 200 * time.Millisecond
	callbackTimeout = 2 * time.Second
)

// provider is the outside world: a payment provider that calls back until it
// hears 200, and a mail server. It recognises an Idempotency-Key of a charge,
// and can be asked for the e-mails with a reference; it knows nothing of Semel.
type provider struct {
	*service
	callback string // the address of the shop that hears of payments
}

type charge struct {
	ID     int64  `json:"id"`
	Order  string `json:"order"`
	Amount int    `json:"amount"`
}

type mail struct {
	Reference string `json:"reference"`
	Order     string `json:"order"`
}

func (p *provider) routes() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST /charges", p.faults.loses("provider/answer", answering(p.charge)))
	mux.Handle("GET /charges/{key}", answering(p.charged))
	mux.Handle("POST /mails", answering(p.mail))
	mux.Handle("GET /mails/{reference}", answering(p.mailed))
	return mux
}

// charge charges the card, once for a key; without a key every request charges.
// The callback is noted together with the charge.
func (p *provider) charge(r *http.Request) (int, any, error) {
	var wanted charge
	if err := decode(r, &wanted); err != nil {
		return 0, nil, err
	}
	key := sql.NullString{String: r.Header.Get("Idempotency-Key")}
	key.Valid = key.String != ""
	err := sqlite.InTransaction(r.Context(), p.db, func(tx *sql.Tx) error { //nolint:contextcheck // it is the request's
		return p.chargeOnce(r.Context(), tx, key, &wanted)
	})
	return http.StatusCreated, wanted, err
}

func (p *provider) chargeOnce(ctx context.Context, tx *sql.Tx, key sql.NullString, c *charge) error {
	err := tx.QueryRowContext(ctx, "SELECT id, order_id, amount FROM charges WHERE idempotency_key = ?", key).Scan(&c.ID, &c.Order, &c.Amount)
	if !errors.Is(err, sql.ErrNoRows) {
		return err // it was charged, or something is wrong
	}
	row := tx.QueryRowContext(ctx, "INSERT INTO charges (idempotency_key, order_id, amount) VALUES (?, ?, ?) RETURNING id", key, c.Order, c.Amount)
	if err := row.Scan(&c.ID); err != nil {
		return err
	}
	body, err := json.Marshal(map[string]any{"type": "payment.succeeded", "data": c})
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO callbacks VALUES (?, ?)", fmt.Sprint("evt_", c.ID), body)
	return err
}

func (p *provider) charged(r *http.Request) (int, any, error) {
	var c charge
	row := p.db.QueryRowContext(r.Context(), "SELECT id, order_id, amount FROM charges WHERE idempotency_key = ?", r.PathValue("key"))
	return http.StatusOK, &c, row.Scan(&c.ID, &c.Order, &c.Amount)
}

func (p *provider) mail(r *http.Request) (int, any, error) {
	var m mail
	if err := decode(r, &m); err != nil {
		return 0, nil, err
	}
	_, err := p.db.ExecContext(r.Context(), "INSERT INTO mails (reference, order_id) VALUES (?, ?)", m.Reference, m.Order)
	return http.StatusCreated, m, err
}

func (p *provider) mailed(r *http.Request) (int, any, error) {
	m := mail{Reference: r.PathValue("reference")}
	row := p.db.QueryRowContext(r.Context(), "SELECT order_id FROM mails WHERE reference = ? LIMIT 1", m.Reference)
	return http.StatusOK, &m, row.Scan(&m.Order)
}

// callBack sends each callback again and again until it is answered with 200.
func (p *provider) callBack(ctx context.Context) error {
	for pause(ctx, callbackPause) {
		waiting, err := p.callbacks(ctx)
		if err != nil {
			p.log.WarnContext(ctx, "read the callbacks", slog.Any("error", err))
		}
		for id, body := range waiting {
			copies := 1
			if p.faults.consume("provider/thrice") {
				copies = 3
			}
			heard := make(chan bool, copies)
			for range copies {
				go func() { heard <- p.send(ctx, id, body) }()
			}
			all := true
			for range copies {
				all = <-heard && all
			}
			if all {
				_, _ = p.db.ExecContext(ctx, "DELETE FROM callbacks WHERE id = ?", id) // otherwise it is sent once more
			}
		}
	}
	return nil
}

func (p *provider) callbacks(ctx context.Context) (map[string][]byte, error) {
	rows, err := p.db.QueryContext(ctx, "SELECT id, body FROM callbacks")
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	found := map[string][]byte{}
	for rows.Next() {
		var id string
		var body []byte
		if err := rows.Scan(&id, &body); err != nil {
			return nil, err
		}
		found[id] = body
	}
	return found, rows.Err()
}

// send reports whether the shop answered 200.
func (p *provider) send(ctx context.Context, id string, body []byte) bool {
	ctx, cancel := context.WithTimeout(ctx, callbackTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.callback, bytes.NewReader(body))
	if err != nil {
		return false
	}
	if err := sign(req, id, body, time.Now()); err != nil {
		return false
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return false
	}
	return resp.Body.Close() == nil && resp.StatusCode == http.StatusOK
}

// callbackSecret is shared by the provider and the shop of this demonstration.
const callbackSecret = "whsec_c2VtZWwtZGVtb25zdHJhdGlvbi1zZWNyZXQ=" //nolint:gosec // everything of the demonstration is public

// sign signs a callback as Standard Webhooks says.
func sign(req *http.Request, id string, body []byte, now time.Time) error {
	secret, err := webhooksig.DecodeSecret(callbackSecret)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("webhook-id", id)
	req.Header.Set("webhook-timestamp", strconv.FormatInt(now.Unix(), 10))
	req.Header.Set("webhook-signature", webhooksig.Sign(secret, id, now, body))
	return nil
}
