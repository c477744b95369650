package command

import (
	"context"
	"database/sql"
	"errors"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/semelhttp"
	"github.com/semel-dev/semel/store/logstore"
	"github.com/semel-dev/semel/store/sqlitestore"
)

// sampleRecord returns a claim whose holder ended without an answer.
func sampleRecord() semel.Record {
	at := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	key := semel.Key{Scope: "shop", Name: "order-1"}
	return semel.Record{
		Digest: key.Digest(), Scope: key.Scope, Name: key.Name, State: semel.StateClaimed, Fence: 7, Attempt: 1,
		ClaimedAt: at, LeaseUntil: at.Add(30 * time.Second), ReadAt: at.Add(time.Minute), ExpiresAt: at.Add(24 * time.Hour),
	}
}

// fillStoreCommand creates a store with a record in every state, an hour old, and one live claim.
func fillStoreCommand(args []string) error {
	return fillStore(context.Background(), args[0])
}

func fillStore(ctx context.Context, file string) error {
	store, err := openFilled(ctx, file, func() time.Time { return time.Now().Add(-time.Hour) })
	if err != nil {
		return err
	}
	kept := &semelhttp.Response{
		Status: http.StatusCreated, Body: []byte(`{"order":1}`),
		Header: http.Header{"Content-Type": {"application/json"}, "Location": {"/orders/1"}},
	}
	omitted := &semelhttp.Response{Status: http.StatusCreated, BodyOmitted: true, Header: http.Header{"Location": {"/orders/2"}}}
	errs := []error{
		settle(ctx, store, "done", &semel.Settlement{State: semel.StateCompleted, Outcome: marshal(kept), Kept: true}),
		settle(ctx, store, "large", &semel.Settlement{State: semel.StateCompleted, Outcome: marshal(omitted)}),
		settle(ctx, store, "lost", &semel.Settlement{State: semel.StateUnknown, Note: "the upstream's answer broke off"}),
		settle(ctx, store, "void", &semel.Settlement{State: semel.StateCancelled, Note: "customer called"}),
		settle(ctx, store, "brief", &semel.Settlement{State: semel.StateCancelled, Retention: time.Second}),
		settle(ctx, store, "crashed", nil),
		store.Close(),
	}
	now, err := openFilled(ctx, file, time.Now)
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	return errors.Join(append(errs, settle(ctx, now, "busy", nil), now.Close())...)
}

// openFilled opens a file of SQLite, or log:DIR.
func openFilled(ctx context.Context, file string, now func() time.Time) (semel.Store, error) {
	if dir, ok := strings.CutPrefix(file, "log:"); ok {
		return logstore.Open(ctx, dir, &logstore.Options{Now: now})
	}
	return sqlitestore.Open(ctx, file, &sqlitestore.Options{Now: now})
}

// flipBit is a disk that changes a byte of a file.
func flipBit(args []string) error {
	at, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	b, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	b[at] ^= 1
	return os.WriteFile(args[0], b, 0o600)
}

// settle claims shop/name and settles it, unless s is nil.
func settle(ctx context.Context, store semel.Store, name string, s *semel.Settlement) error {
	key := semel.Key{Scope: "shop", Name: name}
	rec, _, err := store.Claim(ctx, semel.ClaimParams{
		Digest: key.Digest(), Scope: key.Scope, Name: key.Name, Owner: semel.Owner{1}, Lease: 10 * time.Minute, Retention: 24 * time.Hour,
	})
	if err != nil || s == nil {
		return err
	}
	if s.Retention == 0 {
		s.Retention = 24 * time.Hour
	}
	return store.Settle(ctx, key.Digest(), rec.Fence, *s)
}

func marshal(r *semelhttp.Response) []byte {
	text, err := r.MarshalBinary()
	if err != nil {
		return nil
	}
	return text
}

// futureStoreCommand creates a store of a newer program.
func futureStoreCommand(args []string) error {
	ctx := context.Background()
	if err := fillStore(ctx, args[0]); err != nil {
		return err
	}
	db, err := sql.Open("sqlite", args[0])
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "PRAGMA user_version = 99")
	return errors.Join(err, db.Close())
}
