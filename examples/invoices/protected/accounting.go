package protected

import (
	"context"
	"database/sql"
	_ "embed"
	"fmt"
)

//go:embed sql/tell_accounting.sql
var tellAccountingSQL string

// tellAccounting leaves a message for a slow accounting service in the
// transaction, which must not wait for it: it is sent when the row it is about
// is certain, and again until it has arrived.
func tellAccounting(ctx context.Context, tx *sql.Tx, subject string, id int64) error {
	if _, err := tx.ExecContext(ctx, tellAccountingSQL, subject, id); err != nil {
		return fmt.Errorf("tell accounting: %w", err)
	}
	return nil
}
