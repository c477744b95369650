package tallybook

import (
	"context"
	_ "embed"
	"time"
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
	return list(ctx, d, scanEmail, listEmailsSQL, maxEmailsListed)
}

func scanEmail(row scanner) (Email, error) {
	var e Email
	var created string
	if err := row.Scan(&e.ID, &e.Recipient, &e.Subject, &created); err != nil {
		return Email{}, err
	}
	var err error
	e.CreatedAt, err = time.Parse(time.RFC3339, created)
	return e, err
}
