package forms

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/formguard"
)

const (
	secretScope = "semel:gateway"
	secretName  = "form secret"
	secretBytes = 32
	// secretRetention is the lifetime of a shared secret.
	secretRetention = 10 * 365 * 24 * time.Hour
	// secretPatience bounds how long a page or a form waits for the secret, and
	// secretPause how soon the store is asked again when it did not answer.
	secretPatience = 2 * time.Second
	secretPause    = time.Second
)

// secrets make the tokens: those of the config, or one that all gateways of a store
// share, made by the first of them that needs it.
type secrets struct {
	guard *semel.Guard
	log   *slog.Logger
	ready atomic.Pointer[formguard.Minter]

	mu    sync.Mutex // guards the fields below, and lets one ask at a time
	next  time.Time  // when the store may be asked again
	cause error      // why it did not answer
}

func (s *secrets) open(c *Config) error {
	s.log = c.Log
	if len(c.Secrets) > 0 {
		minter, err := formguard.NewMinter(c.Secrets, nil)
		if err != nil {
			return fmt.Errorf("gateway: form secrets: %w", err)
		}
		s.ready.Store(minter)
		return nil
	}
	policy := c.Guard.Policy()
	policy.Retention, policy.UnknownRetention = secretRetention, secretRetention
	policy.Dedup, policy.OnUnknown, policy.Reconcile = false, semel.Rerun, nil
	policy.Wait = secretPatience
	var err error
	s.guard, err = c.Guard.With(policy)
	if err != nil {
		return fmt.Errorf("gateway: form secret: %w", err)
	}
	return nil
}

// minter returns what makes and verifies tokens. It asks the store the first
// time; while that does not answer, it says so at once.
func (s *secrets) minter(ctx context.Context) (*formguard.Minter, error) {
	if m := s.ready.Load(); m != nil {
		return m, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.ready.Load(); m != nil {
		return m, nil
	}
	if time.Now().Before(s.next) {
		return nil, s.cause
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), secretPatience)
	defer cancel()
	secret, err := s.shared(ctx)
	if err == nil {
		var m *formguard.Minter
		if m, err = formguard.NewMinter([][]byte{secret}, nil); err == nil {
			s.ready.Store(m)
			return m, nil
		}
	}
	err = withoutSecret(err)
	s.next, s.cause = time.Now().Add(secretPause), err
	s.log.LogAttrs(ctx, slog.LevelWarn, "no form secret: pages pass without tokens", slog.String("error", err.Error()))
	return nil, err
}

// withoutSecret returns the cause of a missing secret as an error of the store:
// unchanged if the store could not be reached, and otherwise as one for which no route
// fails open, because the store answered.
func withoutSecret(err error) error {
	e, ok := errors.AsType[*semel.Error](err)
	switch {
	case ok && errors.Is(err, semel.ErrUnavailable):
		return &semel.Error{Op: "form secret", Digest: e.Digest, RetryAfter: e.RetryAfter, Err: e.Err}
	case errors.Is(err, context.DeadlineExceeded): // it did not answer in time
		return &semel.Error{Op: "form secret", Err: fmt.Errorf("%w: %w", semel.ErrUnavailable, err)}
	}
	return fmt.Errorf("%w: %v", semel.ErrUnavailable, err) //nolint:errorlint // what else the guard says of the secret is not about the caller's request.
}

// shared returns the secret in the store; the first who asks makes it.
func (s *secrets) shared(ctx context.Context) ([]byte, error) {
	key := semel.Key{Scope: secretScope, Name: secretName}
	claim, rec, err := s.guard.Begin(ctx, key, semel.FingerprintOf(secretName))
	switch {
	case err != nil:
		return nil, err
	case rec != nil && len(rec.Outcome) == secretBytes:
		return rec.Outcome, nil
	case rec != nil:
		return nil, errors.New("the record of the form secret holds something else")
	}
	secret := make([]byte, secretBytes)
	_, _ = rand.Read(secret)                            // it does not return errors
	if err := claim.Complete(secret, nil); err != nil { //nolint:contextcheck // the claim has its own.
		return nil, err
	}
	return secret, nil
}
