package invoices

import (
	"context"
	_ "embed"
	"time"
)

// maxEmailsListed bounds the outbox page, newest first.
const maxEmailsListed = 200

//go:embed sql/list_emails.sql
var listEmailsSQL string

// email is a message in the outbox.
type email struct {
	ID        int64
	Recipient string
	Subject   string
	CreatedAt time.Time
}

func (d *database) listEmails(ctx context.Context) ([]email, error) {
	return list(ctx, d, scanEmail, listEmailsSQL, maxEmailsListed)
}

func scanEmail(row scanner) (email, error) {
	var e email
	var created string
	if err := row.Scan(&e.ID, &e.Recipient, &e.Subject, &created); err != nil {
		return email{}, err
	}
	var err error
	e.CreatedAt, err = time.Parse(time.RFC3339, created)
	return e, err
}
