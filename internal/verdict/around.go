package verdict

import "context"

// Transaction is a transaction of a guard, carried by the context of the work.
type Transaction struct {
	Store   any             // holds the guard's records; wrappers are removed
	Outside context.Context //nolint:containedctx // the context without it.
}

// TransactionKey is the key of the innermost *Transaction in a context.
type TransactionKey struct{}

// TransactionOf returns the innermost transaction under which ctx works, or nil.
func TransactionOf(ctx context.Context) *Transaction {
	t, _ := ctx.Value(TransactionKey{}).(*Transaction)
	return t
}
