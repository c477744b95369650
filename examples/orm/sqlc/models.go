package sqlc

// Invoice is a row of the table invoices.
type Invoice struct {
	ID       int64
	Customer string
	Cents    int64
}
