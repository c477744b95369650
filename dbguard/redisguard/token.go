package redisguard

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/dbguard"
	"github.com/semel-dev/semel/internal/envelope"
	"github.com/semel-dev/semel/internal/waiting"
)

const (
	defaultTokenKeep = 24 * time.Hour
	minTokenKeep     = time.Minute
	defaultTokenWait = 5 * time.Second
	maxTokenLifetime = 10 * 365 * 24 * time.Hour
	maxTokenResult   = 64 << 10
	answerTimeout    = 5 * time.Second

	tokenPauseFirst = time.Millisecond
	tokenPauseMost  = 100 * time.Millisecond
)

// TokensOptions adjust [Tokens]. Nil is complete.
type TokensOptions struct {
	// Prefix begins every key. Default: semel.
	Prefix string
	// Signer admits signed tokens in addition to those minted here. Default: they
	// are refused.
	Signer *dbguard.TokenSigner
	// Keep is the time a token is remembered after its expiry, so that a consumed
	// one differs from an unknown one and still gives its result. Default: a day.
	// At least a minute.
	Keep time.Duration
	// Wait bounds how long, in idempotent mode, a caller waits for the result of
	// the first. Default: 5 seconds. A negative one: not at all.
	Wait time.Duration
}

// Tokens are one-time tokens in Redis, as [dbguard.Tokens] are in a database. No
// transaction joins a token here with the work that it permits: work is done at
// most once, and a crash between the two leaves a token that is consumed and
// nothing done. Where that is wrong, keep tokens in the rows' database, or use package
// semel with redisstore, which knows leases and unknown outcomes.
//
// It is safe for concurrent use. Keys are prefix:token:digest, and go when Keep
// has passed since the token expired. The user of the server needs EVAL, EVALSHA,
// TIME, HMGET, HSET, HSETNX, HEXISTS and PEXPIRE on them.
type Tokens struct {
	client                rueidis.Client
	o                     TokensOptions
	mint, consume, answer *rueidis.Lua
}

// NewTokens keeps tokens by this client, which the caller closes.
func NewTokens(client rueidis.Client, o *TokensOptions) (*Tokens, error) {
	t := &Tokens{client: client}
	if o != nil {
		t.o = *o
	}
	t.o.Prefix, t.o.Keep, t.o.Wait = cmp.Or(t.o.Prefix, defaultPrefix), cmp.Or(t.o.Keep, defaultTokenKeep), cmp.Or(t.o.Wait, defaultTokenWait)
	if t.o.Keep < minTokenKeep {
		return nil, fmt.Errorf("redisguard: new tokens: Keep is %v, want at least %v", t.o.Keep, minTokenKeep)
	}
	t.mint, t.consume, t.answer = script("token_mint"), script("token_consume"), script("token_answer")
	return t, nil
}

// Mint makes a token that the scope can consume once within the lifetime, by the
// server's clock. The scope is not empty; the lifetime is 1 millisecond to 10
// years.
func (t *Tokens) Mint(ctx context.Context, scope string, lifetime time.Duration) (string, error) {
	token := dbguard.NewToken()
	id, err := t.identify(scope, token)
	if err != nil {
		return "", err
	}
	if lifetime < time.Millisecond || lifetime > maxTokenLifetime {
		return "", fmt.Errorf("redisguard: mint a token: the lifetime is %v, want %v to %v", lifetime, time.Millisecond, maxTokenLifetime)
	}
	life := (lifetime + t.o.Keep).Milliseconds()
	args := []string{strconv.FormatInt(lifetime.Microseconds(), 10), strconv.FormatInt(life, 10)}
	if err := t.mint.Exec(ctx, t.client, t.keys(id), args).Error(); err != nil {
		return "", fmt.Errorf("redisguard: mint a token: %w", err)
	}
	return token, nil
}

// Consume consumes the token in dedup mode: a second caller gets
// [dbguard.ErrConsumed], at once. The other answers are
// [dbguard.ErrTokenMalformed], [dbguard.ErrTokenUnknown] and
// [dbguard.ErrTokenExpired]. After any other error the token may or may
// not have been consumed.
func (t *Tokens) Consume(ctx context.Context, scope, token string) error {
	id, err := t.identify(scope, token)
	if err != nil {
		return err
	}
	first, _, err := t.take(ctx, id)
	if err == nil && !first {
		return dbguard.ErrConsumed
	}
	return err
}

// ConsumeDo consumes the token in idempotent mode: the first caller runs work,
// whose result is kept as JSON of at most 64 KiB; later callers get that
// result (first is false). A caller that arrives while the first one works waits up
// to [TokensOptions.Wait], and then gets [dbguard.ErrConsumed]; so does every
// caller when work failed or its process died: it may have had an effect, and never
// runs again.
//
// When work succeeded and its result could not be kept, it is returned together
// with an error that wraps [semel.ErrNotStored].
func ConsumeDo[T any](ctx context.Context, t *Tokens, scope, token string, work func(ctx context.Context) (T, error)) (result T, first bool, err error) {
	id, err := t.identify(scope, token)
	if err != nil {
		return result, false, err
	}
	won, kept, err := t.take(ctx, id)
	if err == nil && !won && kept == nil {
		kept, err = t.await(ctx, id)
	}
	switch {
	case err != nil:
		return result, false, err
	case !won:
		if err := envelope.Decode(kept, &result); err != nil {
			return result, false, fmt.Errorf("redisguard: read the result of a token: %w", err)
		}
		return result, false, nil
	}
	if result, err = work(ctx); err != nil {
		return result, false, err
	}
	kept, read, err := envelope.Encode(result)
	if err == nil {
		err = t.keep(ctx, id, kept)
	}
	if err != nil {
		return result, true, fmt.Errorf("redisguard: %w: %w", semel.ErrNotStored, err)
	}
	return read, true, nil
}

// take consumes the token, or says that it was not the first and what came of
// it, if that is known.
func (t *Tokens) take(ctx context.Context, id tokenID) (first bool, result []byte, err error) {
	args := []string{"", strconv.FormatInt(t.o.Keep.Milliseconds(), 10)}
	if !id.expires.IsZero() {
		args[0] = strconv.FormatInt(id.expires.UnixMicro(), 10)
	}
	answer, err := t.consume.Exec(ctx, t.client, t.keys(id), args).ToArray()
	if err != nil {
		return false, nil, fmt.Errorf("redisguard: consume a token: %w", err)
	}
	state, err := answer[0].ToString()
	if err != nil {
		return false, nil, fmt.Errorf("redisguard: consume a token: %w", err)
	}
	switch state {
	case "first":
		return true, nil, nil
	case "consumed":
		if len(answer) == 1 || answer[1].IsNil() {
			return false, nil, nil
		}
		result, err = answer[1].AsBytes()
		return false, result, err
	case "expired":
		return false, nil, dbguard.ErrTokenExpired
	}
	return false, nil, dbguard.ErrTokenUnknown
}

// await asks for the result of a consumed token until it is there.
func (t *Tokens) await(ctx context.Context, id tokenID) ([]byte, error) {
	if t.o.Wait < 0 {
		return nil, dbguard.ErrConsumed
	}
	patience, cancel := context.WithTimeout(ctx, t.o.Wait)
	defer cancel()
	for pause := range (waiting.Backoff{First: tokenPauseFirst, Most: tokenPauseMost}).Pauses() {
		if !waiting.Sleep(patience, pause) {
			break
		}
		if _, result, err := t.take(ctx, id); err != nil || result != nil {
			return result, err
		}
	}
	return nil, errors.Join(dbguard.ErrConsumed, ctx.Err())
}

// keep records the result, even when the caller has gone.
func (t *Tokens) keep(ctx context.Context, id tokenID, kept []byte) error {
	if len(kept) > maxTokenResult {
		return fmt.Errorf("the result has %d bytes, want at most %d: keep a reference in its place", len(kept), maxTokenResult)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTimeout)
	defer cancel()
	known, err := t.answer.Exec(ctx, t.client, t.keys(id), []string{string(kept)}).AsInt64()
	if err == nil && known == 0 {
		return errors.New("the token is gone")
	}
	return err
}

func (t *Tokens) keys(id tokenID) []string {
	return []string{t.o.Prefix + ":token:" + hex.EncodeToString(id.digest[:])}
}

// tokenID identifies a token on the server.
type tokenID struct {
	digest  [sha256.Size]byte
	expires time.Time // of a signed token
}

func (t *Tokens) identify(scope, token string) (id tokenID, err error) {
	id.digest, id.expires, err = t.o.Signer.Parse(scope, token)
	return id, err
}
