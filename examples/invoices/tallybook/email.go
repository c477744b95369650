package tallybook

import (
	"context"
	_ "embed"
	"time"

	"github.com/semel-dev/semel/examples/internal/sqlite"
)

// maxEmailsListed bounds the outbox page, newest first.
const maxEmailsListed = 200

//go:embed sql/list_emails.sql
var listEmailsSQL string

// Email is a message in the outbox.
type Email struct {
	ID        int64
	Recipient string
	Subject   string
	CreatedAt time.Time
}

func (d *Database) listEmails(ctx context.Context) ([]Email, error) {
	return sqlite.List(ctx, d, "list e-mails", (*Email).scan, listEmailsSQL, maxEmailsListed)
}

func (e *Email) scan(row sqlite.Row) error {
	var created string
	if err := row.Scan(&e.ID, &e.Recipient, &e.Subject, &created); err != nil {
		return err
	}
	var err error
	e.CreatedAt, err = time.Parse(time.RFC3339, created)
	return err
}
