package flow_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/flow"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/operator"
	"github.com/semel-dev/semel/store/sqlitestore/sqlitetx"
)

// order is the input of the shop's flow.
type order struct {
	Customer string `json:"customer"`
	Amount   int    `json:"amount"`
}

// receipt is its result.
type receipt struct {
	Order  int64  `json:"order"`
	Charge string `json:"charge"`
}

// shop has its orders, stock and points in one database, and charges cards at a
// service that has another one.
type shop struct {
	db, service *sql.DB
	store       *sqlitetx.Store
	clock       *claimtest.Clock // of the store
	guard       *semel.Guard
	flows       *flow.Flows
	order       *flow.Definition[order, receipt]
	payment     *flow.Definition[order, receipt] // the callback that follows an order

	// at is called at every point at which a process can die.
	at func(point string)
	// charged says what the service does to a charge that it has made.
	charged func() error
	// points returns the error of the last step.
	points func() error
}

// shopOptions say how a shop differs.
type shopOptions struct {
	flow.Options

	charge   []flow.Option // how a charge without an answer is found out about
	policy   semel.Policy
	callback bool                                         // the flow is that of the payment callback
	wrap     func(semel.Store) semel.Store                // of the records
	timeout  time.Duration                                // of the store
	body     func(r *flow.Run, in order) (receipt, error) // in place of the shop's own
}

func database(path string) (*sql.DB, error) {
	return sql.Open("sqlite", "file:"+url.PathEscape(path)+"?_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
}

// newShop opens the shop in the folder; several processes may.
func newShop(ctx context.Context, folder string, o shopOptions) (*shop, error) {
	s := &shop{clock: &claimtest.Clock{Runs: true}, at: func(string) {}, charged: func() error { return nil }, points: func() error { return nil }}
	var err error
	if s.db, err = database(filepath.Join(folder, "shop.db")); err != nil {
		return nil, err
	}
	if s.service, err = database(filepath.Join(folder, "service.db")); err != nil {
		return nil, err
	}
	for _, table := range []string{"orders", "stock", "points", "payments", "mails"} {
		if _, err := s.db.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS "+table+" (id INTEGER PRIMARY KEY, customer TEXT NOT NULL, n INTEGER NOT NULL)"); err != nil {
			return nil, err
		}
	}
	for _, table := range []string{"charges", "shipments"} {
		if _, err := s.service.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS "+table+" (key TEXT NOT NULL, n INTEGER NOT NULL)"); err != nil {
			return nil, err
		}
	}
	if s.store, err = sqlitetx.Open(ctx, s.db, &sqlitetx.Options{Now: s.clock.Now}); err != nil {
		return nil, err
	}
	var records semel.Store = s.store
	if o.wrap != nil {
		records = o.wrap(records)
	}
	if s.guard, err = semel.New(records, &semel.Options{Policy: o.policy, StoreTimeout: o.timeout}); err != nil {
		return nil, err
	}
	body := func(r *flow.Run, in order) (receipt, error) { return s.runOrder(r, in, o.charge) }
	if o.body != nil {
		body = o.body
	}
	s.order, s.payment = flow.Define("create order", body), flow.Define("payment callback", s.paid)
	o.Transactor = s.store.Transactor()
	s.flows, err = flow.New(s.guard, &o.Options, s.order, s.payment)
	if o.callback {
		s.order = s.payment
	}
	return s, err
}

func (s *shop) close() {
	_ = s.guard.Close()
	_ = s.store.Close()
	_ = s.db.Close()
	_ = s.service.Close()
}

// runOrder is the flow: insert the order, take the stock, charge the card, add points.
func (s *shop) runOrder(r *flow.Run, in order, found []flow.Option) (receipt, error) {
	s.at("begun")
	id, err := flow.Tx(r, "insert order", in, s.insert("orders", 1), flow.Undo(s.reverse("orders")))
	if err != nil {
		return receipt{}, err
	}
	s.at("order inserted")
	if _, err = flow.Tx(r, "take stock", in, s.insert("stock", -1), flow.Undo(s.reverse("stock"))); err != nil {
		return receipt{}, err
	}
	s.at("stock taken")
	charge, err := flow.Call(r, "charge", in.Amount, s.charge, append(found, flow.Undo(s.refund, flow.CalleeDedupes(time.Hour)))...)
	if err != nil {
		return receipt{}, err
	}
	s.at("charged")
	if _, err = flow.Tx(r, "add points", in, s.insert("points", in.Amount)); err != nil {
		return receipt{}, err
	}
	s.at("points added")
	return receipt{Order: id, Charge: charge}, nil
}

// paid is the other flow: note the payment, have the parcel sent, tell the customer.
func (s *shop) paid(r *flow.Run, in order) (receipt, error) {
	s.at("begun")
	id, err := flow.Tx(r, "note payment", in, s.insert("payments", in.Amount))
	if err != nil {
		return receipt{}, err
	}
	s.at("payment noted")
	parcel, err := flow.Call(r, "ship", in.Amount, s.ship, flow.CalleeDedupes(time.Hour))
	if err != nil {
		return receipt{}, err
	}
	s.at("shipped")
	_, err = flow.Tx(r, "notify", in, s.insert("mails", 1))
	s.at("notified")
	return receipt{Order: id, Charge: parcel}, err
}

// insert adds a row in the transaction of the step.
func (s *shop) insert(table string, n int) func(context.Context, order) (int64, error) {
	return func(ctx context.Context, in order) (int64, error) {
		s.at("before " + table)
		res, err := sqlitetx.TxFrom(ctx).ExecContext(ctx, "INSERT INTO "+table+" (customer, n) VALUES (?, ?)", in.Customer, n)
		if err != nil {
			return 0, err
		}
		s.at("after " + table)
		if table == "points" {
			if err := s.points(); err != nil {
				return 0, err
			}
		}
		return res.LastInsertId()
	}
}

// reverse adds a row that takes back the one with the id.
func (s *shop) reverse(table string) func(context.Context, int64) error {
	return func(ctx context.Context, id int64) error {
		s.at("before undo " + table)
		_, err := sqlitetx.TxFrom(ctx).ExecContext(ctx, "INSERT INTO "+table+" (customer, n) SELECT customer, -n FROM "+table+" WHERE id = ?", id)
		s.at("after undo " + table)
		return err
	}
}

// charge asks the service, which recognises a key that it has seen.
func (s *shop) charge(ctx context.Context, amount int) (string, error) {
	s.at("before charge")
	err := s.request(ctx, "charges", amount)
	s.at("after charge")
	return "charge of " + flow.KeyFrom(ctx)[:8], errors.Join(err, s.charged())
}

func (s *shop) ship(ctx context.Context, amount int) (string, error) {
	s.at("before ship")
	err := s.request(ctx, "shipments", amount)
	s.at("after ship")
	return "parcel of " + flow.KeyFrom(ctx)[:8], err
}

func (s *shop) request(ctx context.Context, table string, n int) error {
	_, err := s.service.ExecContext(context.WithoutCancel(ctx),
		"INSERT INTO "+table+" (key, n) SELECT ?1, ?2 WHERE NOT EXISTS (SELECT 1 FROM "+table+" WHERE key = ?1)", flow.KeyFrom(ctx), n)
	return err
}

func (s *shop) refund(ctx context.Context, charge string) error {
	s.at("before refund")
	_, err := s.service.ExecContext(context.WithoutCancel(ctx), `INSERT INTO charges (key, n)
		SELECT ?1, -n FROM charges WHERE 'charge of ' || substr(key, 1, 8) = ?2 AND NOT EXISTS (SELECT 1 FROM charges WHERE key = ?1)`,
		flow.KeyFrom(ctx), charge)
	s.at("after refund")
	return err
}

// found asks the service whether it has seen the key.
func (s *shop) found(ctx context.Context) (string, semel.Verdict, error) {
	var n int
	key := flow.KeyFrom(ctx)
	err := s.service.QueryRowContext(ctx, "SELECT COUNT(*) FROM charges WHERE key = ?", key).Scan(&n)
	if err != nil || n == 0 {
		return "", semel.NotHappened, err
	}
	return "charge of " + key[:8], semel.Happened, nil
}

// books are the sums that an order leaves, and the rows behind them.
type books struct{ orders, stock, charges, points, rows int }

func (s *shop) books(t *testing.T) (b books) {
	t.Helper()
	sum := func(db *sql.DB, table string) int {
		var n, rows int
		if err := db.QueryRowContext(t.Context(), "SELECT COALESCE(SUM(n), 0), COUNT(*) FROM "+table).Scan(&n, &rows); err != nil {
			t.Fatal(err)
		}
		b.rows += rows
		return n
	}
	b.orders, b.stock, b.points = sum(s.db, "orders"), sum(s.db, "stock"), sum(s.db, "points")
	b.charges = sum(s.service, "charges")
	return b
}

func (s *shop) want(t *testing.T, want books) {
	t.Helper()
	if got := s.books(t); got != want {
		t.Errorf("the books are %+v, want %+v", got, want)
	}
}

var (
	ada     = order{Customer: "Ada", Amount: 30}
	adasKey = semel.Key{Scope: "ada", Name: "order-1"}
	// once are the books of one order of Ada's.
	once = books{orders: 1, stock: -1, charges: 30, points: 30, rows: 4}
	none = books{}
)

func openShop(t *testing.T, o shopOptions) *shop {
	t.Helper()
	return openIn(t, t.TempDir(), o)
}

func openIn(t *testing.T, folder string, o shopOptions) *shop {
	t.Helper()
	s, err := newShop(t.Context(), folder, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	return s
}

func (s *shop) start(t *testing.T) (receipt, error) {
	t.Helper()
	return flow.Start(t.Context(), s.flows, s.order, adasKey, ada)
}

// startsUnfinished starts Ada's flow, which does not get to its end.
func (s *shop) startsUnfinished(t *testing.T) {
	t.Helper()
	if _, err := s.start(t); !isUnfinished(err) {
		t.Fatalf("got %v, want it unfinished", err)
	}
}

// record returns the record of Ada's flow.
func (s *shop) record(t *testing.T) semel.Record {
	t.Helper()
	rec, err := s.guard.Lookup(t.Context(), semel.Key{Scope: "semel:flow:create order:" + adasKey.Scope, Name: adasKey.Name})
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// step returns the digest of a step of Ada's flow.
func (s *shop) step(number int) semel.Digest {
	flow := semel.Key{Scope: "semel:flow:create order:" + adasKey.Scope, Name: adasKey.Name}
	return s.guard.Digest(semel.Key{Scope: "semel:step:" + flow.Digest().String(), Name: strconv.Itoa(number)})
}

// resolve settles a record as an operator does.
func (s *shop) resolve(t *testing.T, d semel.Digest, to semel.Settlement) {
	t.Helper()
	records, err := operator.New(s.guard, nil)
	if err != nil {
		t.Fatal(err)
	}
	rec, err := s.store.Lookup(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := records.Resolve(t.Context(), operator.Identity{Name: "Grace"}, d, rec.Fence, to); err != nil {
		t.Fatal(fmt.Errorf("resolve %v: %w", d, err))
	}
}

// outcome returns an operator's outcome of the record.
func outcome(t *testing.T, g *semel.Guard, d semel.Digest, result string) []byte {
	t.Helper()
	rec, err := g.Store().Lookup(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	outcome, err := flow.Outcome(&rec, result)
	if err != nil {
		t.Fatal(err)
	}
	return outcome
}
