package dbguard

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/semel-dev/semel/internal/envelope"
)

const (
	tokenTableName = "semel_token"
	// maxTokenResult bounds the JSON of a result.
	maxTokenResult = 64 << 10
	// minTokenKeep is the shortest time a token is remembered after its expiry: a
	// clock set back by less lets none be consumed twice.
	minTokenKeep = time.Minute
)

// Tokens are one-time tokens in a table of a database: minted now, consumed once
// by the transaction that they permit. The zero Tokens is the table semel_token
// without a signer. It is safe for concurrent use.
//
//	absent ──mint──▶ minted ──consume──▶ consumed (and the result)
//	                   │                    │
//	                   └──lifetime──▶ expired ──sweep──▶ absent
//
// A token belongs to a scope, such as the user and the operation it permits; for
// any other scope it is unknown. The table holds its digest only.
//
// It is right where the right to do something once is handed out before it is
// used: a form, a link in a mail, a voucher. It is not right where callers name
// their own intents: there a key and package semel do more. A token is a secret:
// any caller that has it and is admitted to its scope consumes it.
type Tokens struct {
	// Table is the table's name, which may be qualified. Default: semel_token.
	Table string
	// Signer admits signed tokens in addition to those minted into the table.
	// Default: they are refused.
	Signer *TokenSigner
}

func (t Tokens) table() string { return cmp.Or(t.Table, tokenTableName) }

// Schema returns the statements that create the table and its index unless they exist. Put it
// among the application's own migrations.
func (t Tokens) Schema(d Dialect) (string, error) {
	return statementOf(d, t.table(), "token_schema")
}

// Create makes the table where it is not there.
func (t Tokens) Create(ctx context.Context, s Session) error {
	return wrap("create the table of tokens", create(ctx, s, t.table(), "token_schema"))
}

// Mint makes a token that the scope can consume once within the lifetime, by
// the database's clock. The scope is not empty; the lifetime is 1 millisecond to
// 10 years. In a transaction, it counts once that commits.
func (t Tokens) Mint(ctx context.Context, s Session, scope string, lifetime time.Duration) (string, error) {
	if err := checkTokenTerms(scope, lifetime); err != nil {
		return "", err
	}
	token := NewToken()
	id, err := t.Signer.parse(scope, token)
	if err != nil {
		return "", err
	}
	if _, err := execVerb(ctx, s, t.table(), "token_mint", id.digest[:], lifetime.Microseconds()); err != nil {
		return "", fmt.Errorf("mint a token: %w", err)
	}
	return token, nil
}

// Consume consumes the token in dedup mode: once. A second caller waits for the
// first one's transaction and gets [ErrConsumed];
// when that rolls back, the token is as it was. The other answers are
// [ErrTokenMalformed], [ErrTokenUnknown] and [ErrTokenExpired]; none of them
// changes anything.
//
// Pass the transaction of the work that the token permits. On a pool, the token
// is consumed whatever becomes of the work. [ErrSerialization] means that the
// transaction has to run again: at REPEATABLE READ and above, PostgreSQL and
// MariaDB with innodb_snapshot_isolation end the second of two at once with it;
// MySQL may end one of several who waited by a deadlock, when the first rolls
// back.
func (t Tokens) Consume(ctx context.Context, tx Session, scope, token string) error {
	id, err := t.Signer.parse(scope, token)
	if err != nil {
		return err
	}
	won, _, err := t.consume(ctx, tx, id)
	if err == nil && !won {
		return ErrConsumed
	}
	return err
}

// ConsumeDo consumes the token in idempotent mode: the first caller runs work,
// whose result is kept as JSON of at most 64 KiB; later callers get that
// result (first is false), until the token is swept. What [Tokens.Consume] says also holds
// here. When it returns an error, roll the transaction back: work may have
// begun. A token that was consumed without a result is [ErrConsumed].
//
// Work gets the context and shall use the transaction that is passed here.
func ConsumeDo[T any](ctx context.Context, t Tokens, tx Session, scope, token string, work func(ctx context.Context) (T, error)) (result T, first bool, err error) {
	id, err := t.Signer.parse(scope, token)
	if err != nil {
		return result, false, err
	}
	won, kept, err := t.consume(ctx, tx, id)
	switch {
	case err != nil:
		return result, false, err
	case !won && kept == nil:
		return result, false, ErrConsumed
	case !won:
		if err := envelope.Decode(kept, &result); err != nil {
			return result, false, fmt.Errorf("read the result of a token: %w", err)
		}
		return result, false, nil
	}
	if result, err = work(ctx); err != nil {
		return result, false, err
	}
	kept, result, err = envelope.Encode(result)
	if err != nil {
		return result, false, fmt.Errorf("keep the result of a token: %w", err)
	}
	if len(kept) > maxTokenResult {
		return result, false, fmt.Errorf("dbguard: the result of a token has %d bytes, want at most %d: keep a reference in its place", len(kept), maxTokenResult)
	}
	if _, err := execVerb(ctx, tx, t.table(), "token_answer", kept, id.digest[:]); err != nil {
		return result, false, fmt.Errorf("keep the result of a token: %w", err)
	}
	return result, true, nil
}

// Sweep forgets tokens that expired so long ago, consumed or not, at most limit
// of them, and says how many they were; call it again while it forgets as many
// as it may. Until then a consumed token differs from an unknown one. Keep is at
// least a minute.
func (t Tokens) Sweep(ctx context.Context, s Session, keep time.Duration, limit int) (int64, error) {
	if keep < minTokenKeep || limit < 1 {
		return 0, fmt.Errorf("dbguard: sweep tokens: keep is %v and limit %d, want at least %v and 1", keep, limit, minTokenKeep)
	}
	n, err := execVerb(ctx, s, t.table(), "token_sweep", keep.Microseconds(), limit)
	return n, wrap("sweep tokens", err)
}

// consume consumes the token, or says that it was not the first and what came
// of it.
func (t Tokens) consume(ctx context.Context, tx Session, id tokenID) (won bool, result []byte, err error) {
	if err := t.admit(ctx, tx, id); err != nil {
		return false, nil, fmt.Errorf("consume a token: %w", err)
	}
	changed, err := execVerb(ctx, tx, t.table(), "token_consume", id.digest[:])
	if err != nil {
		return false, nil, fmt.Errorf("consume a token: %w", err)
	}
	if changed > 0 {
		return true, nil, nil
	}
	var consumed int64
	found, err := queryVerb(ctx, tx, t.table(), "token_find", []any{id.digest[:]}, &consumed, &result)
	switch {
	case err != nil:
		return false, nil, fmt.Errorf("consume a token: %w", err)
	case !found && id.expires.IsZero():
		return false, nil, ErrTokenUnknown
	case consumed == 0:
		return false, nil, ErrTokenExpired
	}
	return false, result, nil
}

// admit makes the row of a signed token.
func (t Tokens) admit(ctx context.Context, tx Session, id tokenID) error {
	if id.expires.IsZero() {
		return nil
	}
	args := []any{id.digest[:], id.expires.UnixMicro()}
	if tx.Dialect() == MySQL {
		args = append(args, id.expires.UnixMicro())
	}
	_, err := execVerb(ctx, tx, t.table(), "token_admit", args...)
	return err
}
