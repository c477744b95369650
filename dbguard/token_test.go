package dbguard_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/dbguard"
	"github.com/semel-dev/semel/internal/guardtest"
)

const (
	tokenAlice = "alice POST /invoices"
	tokenBob   = "bob POST /invoices"
)

var errTokenGivenUp = errors.New("given up")

func tokenSecret(b byte) []byte { return bytes.Repeat([]byte{b}, 32) }

func tokenSigner(tb testing.TB, purpose string, keys ...dbguard.SigningKey) *dbguard.TokenSigner {
	tb.Helper()
	s, err := dbguard.NewTokenSigner(purpose, keys...)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// makeTokens makes the table, and tokens that count by both kinds.
func makeTokens(tb testing.TB, db dbguard.Session) dbguard.Tokens {
	tb.Helper()
	tokens := dbguard.Tokens{Signer: tokenSigner(tb, "test", dbguard.SigningKey{ID: 7, Secret: tokenSecret(7)})}
	noError(tb, tokens.Create(tb.Context(), db))
	return tokens
}

// mintTokens mints stored and signed ones in turn.
func mintTokens(tb testing.TB, db dbguard.Session, tokens dbguard.Tokens, n int) []string {
	tb.Helper()
	minted := make([]string, n)
	for i := range minted {
		var err error
		if i%2 == 0 {
			minted[i], err = tokens.Mint(tb.Context(), db, tokenAlice, time.Hour)
		} else {
			minted[i], err = tokens.Signer.Mint(tokenAlice, time.Hour)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	return minted
}

// Of many who consume a token at once, exactly one has its effect, though the
// first of them may give up; in idempotent mode, all get that one's result.
func TestTokensRace(t *testing.T) {
	t.Parallel()
	guardtest.EachRace(t, func(t *testing.T, db *guardtest.Database) {
		tokens, effects := makeTokens(t, db), guardtest.NewEffects(t, db)
		minted := mintTokens(t, db, tokens, guardtest.Keys)
		results := make([][guardtest.Callers]int, guardtest.Keys)
		inTx := db.InTx
		if db.Dialect() == dbguard.MySQL { // which ends transactions that wait for a consumed row (1213)
			inTx = func(ctx context.Context, work func(context.Context, dbguard.Session) error) error {
				return again(ctx, db, work)
			}
		}
		guardtest.Race(t, guardtest.Callers, guardtest.Keys, func(ctx context.Context, caller, key int) error {
			work := func(tx dbguard.Session) func(context.Context) (int, error) {
				return func(ctx context.Context) (int, error) {
					if err := effects.Add(ctx, tx, key); err != nil {
						return 0, err
					}
					if key%5 == 0 && caller == 0 {
						return 0, errTokenGivenUp
					}
					return 1 + caller, nil
				}
			}
			err := inTx(ctx, func(ctx context.Context, tx dbguard.Session) (err error) {
				if key%4 < 2 {
					if err := tokens.Consume(ctx, tx, tokenAlice, minted[key]); err != nil {
						return err
					}
					_, err = work(tx)(ctx)
					return err
				}
				results[key][caller], _, err = dbguard.ConsumeDo(ctx, tokens, tx, tokenAlice, minted[key], work(tx))
				return err
			})
			if errors.Is(err, errTokenGivenUp) || (key%4 < 2 && errors.Is(err, dbguard.ErrConsumed)) {
				return nil
			}
			return err
		})
		effects.Check(t, guardtest.Keys)
		for key, all := range results {
			for caller, got := range all {
				if key%4 >= 2 && got != all[1] && got != 0 {
					t.Errorf("key %d: caller %d got the result of %d, caller 1 that of %d", key, caller, got, all[1])
				}
			}
		}
	})
}

func TestTokens(t *testing.T) {
	t.Parallel()
	guardtest.Each(t, func(t *testing.T, db *guardtest.Database) {
		tokens := makeTokens(t, db)
		for _, token := range mintTokens(t, db, tokens, 4) {
			want := func(what, scope string, want error) {
				t.Helper()
				if err := tokens.Consume(t.Context(), db, scope, token); !errors.Is(err, want) {
					t.Errorf("%.5s: %s = %v, want %v", token, what, err, want)
				}
			}
			want("another scope's", tokenBob, dbguard.ErrTokenUnknown)
			want("no scope's", "", semel.ErrScopeMissing)
			want("the first", tokenAlice, nil)
			want("the second", tokenAlice, dbguard.ErrConsumed)
			want("another scope's afterwards", tokenBob, dbguard.ErrTokenUnknown)
			_, _, err := dbguard.ConsumeDo(t.Context(), tokens, db, tokenAlice, token, func(context.Context) (int, error) { return 1, nil })
			if !errors.Is(err, dbguard.ErrConsumed) {
				t.Errorf("in idempotent mode after dedup mode: %v, want ErrConsumed", err)
			}
		}
	})
}

// An expired token is reported as such until it is swept, and is never consumed; a
// consumed one gives its result until then.
func TestTokensExpire(t *testing.T) {
	t.Parallel()
	guardtest.Each(t, func(t *testing.T, db *guardtest.Database) {
		tokens := makeTokens(t, db)
		minted := mintTokens(t, db, tokens, 4)
		late, err := tokens.Signer.Mint(tokenAlice, time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		consume := func(token string) (string, bool, error) {
			return dbguard.ConsumeDo(t.Context(), tokens, db, tokenAlice, token, func(context.Context) (string, error) { return "first", nil })
		}
		for _, token := range minted[:2] {
			if got, first, err := consume(token); got != "first" || !first || err != nil {
				t.Fatalf("ConsumeDo = %q, %v, %v, want first", got, first, err)
			}
		}
		const longAgo = "UPDATE semel_token SET expires_us = expires_us - 7200000000" // two hours
		db.Run(t, longAgo)
		for i, want := range []error{nil, nil, dbguard.ErrTokenExpired} {
			if got, first, err := consume(minted[i]); !errors.Is(err, want) || first || (got == "first") != (want == nil) {
				t.Errorf("token %d = %q, %v, %v, want %v", i, got, first, err, want)
			}
		}
		tokenEventually(t, "a signed token expires", func() bool {
			rolledBack := db.InTx(t.Context(), func(ctx context.Context, tx dbguard.Session) error {
				err := tokens.Consume(ctx, tx, tokenAlice, late)
				return tokenOrElse(err, errTokenGivenUp)
			})
			return errors.Is(rolledBack, dbguard.ErrTokenExpired)
		})
		for _, wrong := range [][2]int64{{int64(time.Second), 10}, {int64(time.Hour), 0}} {
			if _, err := tokens.Sweep(t.Context(), db, time.Duration(wrong[0]), int(wrong[1])); err == nil {
				t.Errorf("Sweep%v has no error", wrong)
			}
		}
		for _, want := range []int64{2, 1, 0} {
			if n, err := tokens.Sweep(t.Context(), db, 30*time.Minute, 2); n != want || err != nil {
				t.Errorf("Sweep = %d, %v, want %d", n, err, want)
			}
		}
		if _, _, err := consume(minted[0]); !errors.Is(err, dbguard.ErrTokenUnknown) {
			t.Errorf("what was swept = %v, want ErrTokenUnknown", err)
		}
	})
}

// tokenOrElse is the first error, or the second where there is none.
func tokenOrElse(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

// tokenEventually asks until the answer is yes.
func tokenEventually(t *testing.T, what string, ask func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for !ask() {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("never: %s", what)
		}
	}
}

// In a transaction that has looked before the other consumed, the token is
// consumed no second time: MySQL replays, and a database that ends such a
// transaction asks for another try.
func TestTokensInSnapshots(t *testing.T) {
	t.Parallel()
	guardtest.Each(t, func(t *testing.T, db *guardtest.Database) {
		if db.Dialect() == dbguard.SQLite {
			return // there, no two write at a time
		}
		tokens := makeTokens(t, db)
		for _, token := range mintTokens(t, db, tokens, 2) {
			ran := 0
			work := func(context.Context) (int, error) { ran++; return ran, nil }
			err := db.InSnapshot(t.Context(), "semel_token", func(ctx context.Context, tx dbguard.Session) error {
				if _, _, err := dbguard.ConsumeDo(ctx, tokens, db, tokenAlice, token, work); err != nil {
					return err
				}
				got, first, err := dbguard.ConsumeDo(ctx, tokens, tx, tokenAlice, token, work)
				if err == nil && (got != 1 || first) {
					t.Errorf("ConsumeDo = %d, %v, want the 1 of the first", got, first)
				}
				return err
			})
			if ran != 1 || errors.Is(err, dbguard.ErrSerialization) != db.Strict || (err != nil) != db.Strict {
				t.Errorf("%.5s: ran %d times, error %v", token, ran, err)
			}
		}
	})
}

// A text that is not a token is refused without a query, and so is a signed token
// without a signer.
func TestTokensMalformed(t *testing.T) {
	t.Parallel()
	token := dbguard.NewToken()
	s := tokenSigner(t, "test", dbguard.SigningKey{ID: 7, Secret: tokenSecret(7)})
	signed, err := s.Mint(tokenAlice, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if len(token) != 37 || len(signed) != 93 {
		t.Errorf("tokens have %d and %d characters, want 37 and 93", len(token), len(signed))
	}
	for _, text := range []string{
		"", "sot1.", token[1:], token + "A", " " + token[1:], token[:36] + "\n", token[:36] + "=", token[:36] + "+",
		strings.Replace(token, "sot1", "sst1", 1), signed, signed[:92], "sot1." + signed[5:],
	} {
		if err := (dbguard.Tokens{}).Consume(t.Context(), nil, tokenAlice, text); !errors.Is(err, dbguard.ErrTokenMalformed) {
			t.Errorf("Consume(%q) = %v, want ErrTokenMalformed", text, err)
		}
	}
	for scope, lifetime := range map[string]time.Duration{"": time.Hour, tokenAlice: 0, tokenBob: 100 * 365 * 24 * time.Hour} {
		if _, err := s.Mint(scope, lifetime); err == nil {
			t.Errorf("Mint(%q, %v) has no error", scope, lifetime)
		}
		if _, err := (dbguard.Tokens{}).Mint(t.Context(), nil, scope, lifetime); err == nil {
			t.Errorf("Tokens.Mint(%q, %v) has no error", scope, lifetime)
		}
	}
}

// A signed token counts for its signer's purpose, its scope and its key, and
// not with a bit of it changed.
func TestTokenSigner(t *testing.T) {
	t.Parallel()
	first, second := dbguard.SigningKey{ID: 1, Secret: tokenSecret(1)}, dbguard.SigningKey{ID: 2, Secret: tokenSecret(2)}
	token, err := tokenSigner(t, "reset", first).Mint(tokenAlice, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	verify := func(what string, s *dbguard.TokenSigner, scope, token string, want error) {
		t.Helper()
		if _, _, err := s.Parse(scope, token); !errors.Is(err, want) {
			t.Errorf("%s = %v, want %v", what, err, want)
		}
	}
	verify("its own", tokenSigner(t, "reset", first), tokenAlice, token, nil)
	verify("a new key first", tokenSigner(t, "reset", second, first), tokenAlice, token, nil)
	verify("the key is gone", tokenSigner(t, "reset", second), tokenAlice, token, dbguard.ErrTokenUnknown)
	verify("another secret", tokenSigner(t, "reset", dbguard.SigningKey{ID: 1, Secret: tokenSecret(9)}), tokenAlice, token, dbguard.ErrTokenUnknown)
	verify("another purpose", tokenSigner(t, "rese", first), "t"+tokenAlice, token, dbguard.ErrTokenUnknown)
	verify("another scope", tokenSigner(t, "reset", first), tokenBob, token, dbguard.ErrTokenUnknown)
	verify("no scope", tokenSigner(t, "reset", first), "", token, semel.ErrScopeMissing)
	for i := len("sst1."); i < len(token); i++ {
		changed := []byte(token)
		changed[i] = map[bool]byte{true: 'B', false: 'A'}[changed[i] == 'A']
		if _, _, err := tokenSigner(t, "reset", first).Parse(tokenAlice, string(changed)); err == nil {
			t.Errorf("a token that differs at %d counts", i)
		}
	}
	for what, keys := range map[string][]dbguard.SigningKey{
		"no key": nil, "a short one": {{ID: 1, Secret: tokenSecret(1)[1:]}}, "one twice": {first, first}, "many": make([]dbguard.SigningKey, 17),
	} {
		if _, err := dbguard.NewTokenSigner("reset", keys...); err == nil {
			t.Errorf("NewTokenSigner with %s has no error", what)
		}
	}
	if _, err := dbguard.NewTokenSigner("", first); err == nil {
		t.Error("NewTokenSigner without a purpose has no error")
	}
}

// A work that fails and a result that is too long leave the token as it was.
func TestConsumeDoFails(t *testing.T) {
	t.Parallel()
	guardtest.Each(t, func(t *testing.T, db *guardtest.Database) {
		tokens := makeTokens(t, db)
		for _, token := range mintTokens(t, db, tokens, 2) {
			for what, work := range map[string]func(context.Context) (any, error){
				"an error":      func(context.Context) (any, error) { return nil, errTokenGivenUp },
				"no JSON":       func(context.Context) (any, error) { return func() {}, nil },
				"a long result": func(context.Context) (any, error) { return strings.Repeat("x", 1<<16), nil },
			} {
				err := db.InTx(t.Context(), func(ctx context.Context, tx dbguard.Session) error {
					_, _, err := dbguard.ConsumeDo(ctx, tokens, tx, tokenAlice, token, work)
					return err
				})
				if err == nil || errors.Is(err, dbguard.ErrConsumed) {
					t.Errorf("%.5s: %s = %v, want its error", token, what, err)
				}
			}
			if err := tokens.Consume(t.Context(), db, tokenAlice, token); err != nil {
				t.Errorf("%.5s: afterwards: %v, want that it is consumed", token, err)
			}
		}
	})
}
