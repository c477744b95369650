package cleanup

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/semel-dev/semel/examples/internal/sqlite"
)

var (
	//go:embed sql/customers.sql
	customersSQL string
	//go:embed sql/totals.sql
	totalsSQL string
)

// Total is a number of invoices and payments, in cents.
type Total struct{ Invoices, Cents, Payments, PaidCents int64 }

// Sums says what is in the database.
type Sums struct {
	// Customers are those who were not merged; Duplicates of them are the same as another one.
	Customers, Duplicates int64
	// Old are the totals of [History], New those of [Order].
	Old, New Total
	// ByEmail is a digest of the old totals of every e-mail address: a merge must not move money from one to another.
	ByEmail string
}

// String implements [fmt.Stringer].
func (s Sums) String() string {
	return fmt.Sprintf("%d customers, %d of them duplicates\nhistory: %s, by e-mail %s\norders: %s\n", s.Customers, s.Duplicates, s.Old, s.ByEmail, s.New)
}

// String implements [fmt.Stringer].
func (t Total) String() string {
	return fmt.Sprintf("%d invoices of %d.%02d, %d payments of %d.%02d", t.Invoices, t.Cents/100, t.Cents%100, t.Payments, t.PaidCents/100, t.PaidCents%100)
}

// ReadSums reads the sums of the database at path.
func ReadSums(ctx context.Context, path string) (sums Sums, err error) {
	db, err := sqlite.Open(ctx, path)
	if err != nil {
		return sums, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := db.QueryRowContext(ctx, customersSQL).Scan(&sums.Customers, &sums.Duplicates); err != nil {
		return sums, fmt.Errorf("count customers: %w", err)
	}
	digest := sha256.New()
	_, err = sqlite.List(ctx, db, "add up", func(_ *struct{}, row sqlite.Row) error {
		var isNew bool
		var email string
		var one Total
		err := row.Scan(&isNew, &email, &one.Invoices, &one.Cents, &one.Payments, &one.PaidCents)
		total := &sums.Old
		if isNew {
			total = &sums.New
		} else {
			_, _ = fmt.Fprintln(digest, email, one) // a hash never fails
		}
		total.Invoices, total.Cents = total.Invoices+one.Invoices, total.Cents+one.Cents
		total.Payments, total.PaidCents = total.Payments+one.Payments, total.PaidCents+one.PaidCents
		return err
	}, totalsSQL)
	sums.ByEmail = hex.EncodeToString(digest.Sum(nil)[:4])
	return sums, err
}
