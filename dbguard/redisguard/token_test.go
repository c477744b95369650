package redisguard_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/dbguard"
	"github.com/semel-dev/semel/dbguard/redisguard"
	"github.com/semel-dev/semel/internal/guardtest"
	"github.com/semel-dev/semel/internal/testserver"
)

const alice, bob = "alice", "bob"

func makeTokens(tb testing.TB, client rueidis.Client, o redisguard.TokensOptions) (*redisguard.Tokens, *dbguard.TokenSigner) {
	tb.Helper()
	signer, err := dbguard.NewTokenSigner("test", dbguard.SigningKey{ID: 1, Secret: bytes.Repeat([]byte{1}, 32)})
	if err != nil {
		tb.Fatal(err)
	}
	o.Prefix, o.Signer = testserver.RedisPrefix(tb), signer
	tokens, err := redisguard.NewTokens(client, &o)
	if err != nil {
		tb.Fatal(err)
	}
	return tokens, signer
}

// mint mints stored and signed tokens in turn.
func mint(tb testing.TB, tokens *redisguard.Tokens, signer *dbguard.TokenSigner, n int, lifetime time.Duration) []string {
	tb.Helper()
	minted := make([]string, n)
	for i := range minted {
		var err error
		if i%2 == 0 {
			minted[i], err = tokens.Mint(tb.Context(), alice, lifetime)
		} else {
			minted[i], err = signer.Mint(alice, lifetime)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	return minted
}

// Of many who consume a token at once, exactly one works; in idempotent mode all
// get that one's result.
func TestTokensRace(t *testing.T) {
	t.Parallel()
	tokens, signer := makeTokens(t, connect(t, testserver.Redis(t)), redisguard.TokensOptions{Wait: time.Minute})
	minted := mint(t, tokens, signer, guardtest.Keys, time.Hour)
	effects := make([]atomic.Int64, guardtest.Keys)
	results := make([][guardtest.Callers]int, guardtest.Keys)
	guardtest.Race(t, guardtest.Callers, guardtest.Keys, func(ctx context.Context, caller, key int) (err error) {
		if key%4 < 2 {
			if err = tokens.Consume(ctx, alice, minted[key]); err == nil {
				effects[key].Add(1)
			} else if errors.Is(err, dbguard.ErrConsumed) {
				err = nil
			}
			return err
		}
		results[key][caller], _, err = redisguard.ConsumeDo(ctx, tokens, alice, minted[key], func(context.Context) (int, error) {
			effects[key].Add(1)
			return 1 + caller, nil
		})
		return err
	})
	for key := range effects {
		if n := effects[key].Load(); n != 1 {
			t.Errorf("token %d had %d effects, want 1", key, n)
		}
		for caller, got := range results[key] {
			if got != results[key][0] || (got == 0) != (key%4 < 2) {
				t.Errorf("token %d: caller %d got the result of %d, caller 0 that of %d", key, caller, got, results[key][0])
			}
		}
	}
}

// The counter-example is GET, then DEL.
func TestGetThenDelLoses(t *testing.T) {
	t.Parallel()
	const keys = 100
	client, prefix := connect(t, testserver.Redis(t)), testserver.RedisPrefix(t)
	effects := make([]atomic.Int64, keys)
	for key := range keys {
		if err := client.Do(t.Context(), client.B().Set().Key(prefix+string(rune('A'+key))).Value("1").Build()).Error(); err != nil {
			t.Fatal(err)
		}
	}
	guardtest.Race(t, guardtest.Callers, keys, func(ctx context.Context, _, key int) error {
		name := prefix + string(rune('A'+key))
		err := client.Do(ctx, client.B().Get().Key(name).Build()).Error()
		if rueidis.IsRedisNil(err) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := guardtest.Meet(ctx); err != nil {
			return err
		}
		effects[key].Add(1)
		return client.Do(ctx, client.B().Del().Key(name).Build()).Error()
	})
	wrong := 0
	for key := range effects {
		if effects[key].Load() != 1 {
			wrong++
		}
	}
	if wrong == 0 {
		t.Error("GET, then DEL had every effect once: the race shows nothing")
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	tokens, signer := makeTokens(t, connect(t, testserver.Redis(t)), redisguard.TokensOptions{Wait: -1})
	ctx := t.Context()
	for i, token := range mint(t, tokens, signer, 4, time.Hour) {
		consume := func(scope string) error { return tokens.Consume(ctx, scope, token) }
		if i >= 2 {
			consume = func(scope string) error {
				_, _, err := redisguard.ConsumeDo(ctx, tokens, scope, token, func(context.Context) (int, error) { return 0, errors.New("given up") })
				if err != nil && err.Error() == "given up" {
					return nil
				}
				return err
			}
		}
		for _, c := range []struct {
			scope string
			want  error
		}{
			{bob, dbguard.ErrTokenUnknown}, {"", semel.ErrScopeMissing}, {alice, nil}, {alice, dbguard.ErrConsumed}, {bob, dbguard.ErrTokenUnknown},
		} {
			if err := consume(c.scope); !errors.Is(err, c.want) {
				t.Errorf("token %d, scope %q = %v, want %v", i, c.scope, err, c.want)
			}
		}
	}
	for _, token := range []string{"", "sot1.", strings.Repeat("a", 37)} {
		if err := tokens.Consume(ctx, alice, token); !errors.Is(err, dbguard.ErrTokenMalformed) {
			t.Errorf("Consume(%q) = %v, want ErrTokenMalformed", token, err)
		}
	}
	long := mint(t, tokens, signer, 1, time.Hour)[0]
	if _, _, err := redisguard.ConsumeDo(ctx, tokens, alice, long, func(context.Context) (string, error) {
		return strings.Repeat("x", 1<<16), nil
	}); !errors.Is(err, semel.ErrNotStored) {
		t.Errorf("a result that is too long = %v, want ErrNotStored", err)
	}
	for _, lifetime := range []time.Duration{0, 100 * 365 * 24 * time.Hour} {
		if _, err := tokens.Mint(ctx, alice, lifetime); err == nil {
			t.Errorf("Mint for %v has no error", lifetime)
		}
	}
	if _, err := redisguard.NewTokens(nil, &redisguard.TokensOptions{Keep: time.Second}); err == nil {
		t.Error("NewTokens that forgets at once has no error")
	}
}

// By the server's clock a token expires, and a consumed one gives its result
// until it is forgotten.
func TestTokensExpire(t *testing.T) {
	t.Parallel()
	clock := testserver.NewClock(t)
	server := testserver.StartRedis(t, &testserver.RedisOptions{Clock: clock})
	tokens, signer := makeTokens(t, connect(t, server.Addr()), redisguard.TokensOptions{Keep: 2 * time.Hour})
	minted := mint(t, tokens, signer, 4, time.Hour)
	consume := func(token string) (string, bool, error) {
		return redisguard.ConsumeDo(t.Context(), tokens, alice, token, func(context.Context) (string, error) { return "first", nil })
	}
	for _, token := range minted[:2] {
		if got, first, err := consume(token); got != "first" || !first || err != nil {
			t.Fatalf("ConsumeDo = %q, %v, %v, want first", got, first, err)
		}
	}
	if err := clock.Set(90 * time.Minute); err != nil {
		t.Fatal(err)
	}
	for i, token := range minted {
		got, first, err := consume(token)
		if i < 2 && (got != "first" || first || err != nil) {
			t.Errorf("a consumed token = %q, %v, %v, want its result", got, first, err)
		}
		if i >= 2 && !errors.Is(err, dbguard.ErrTokenExpired) {
			t.Errorf("an expired token = %q, %v, want ErrTokenExpired", got, err)
		}
	}
	if err := clock.Set(200 * time.Minute); err != nil {
		t.Fatal(err)
	}
	for i, want := range []error{dbguard.ErrTokenUnknown, dbguard.ErrTokenExpired} {
		if _, _, err := consume(minted[i]); !errors.Is(err, want) {
			t.Errorf("token %d, forgotten = %v, want %v", i, err, want)
		}
	}
}
