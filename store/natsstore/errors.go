package natsstore

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/internal/verb"
)

// errConfig means that the DSN or the options are wrong as written: nothing was tried,
// and trying again does not help.
var errConfig = verb.ConfigError("natsstore: wrong configuration")

// errUnfit marks a server or a stream that cannot keep the promises.
var errUnfit = verb.Refused(errors.New("natsstore: the server breaks a promise"))

const hintPayload = " (a record must fit one message: the server's max_payload, and the stream's max_msg_size, bound it)"

// What JetStream answers (err_code) and only an operator can change.
const (
	codeNoLeader       = 10008
	codeAccountWithout = 10039 // JetStream is not enabled for the account
	codeServerWithout  = 10076 // nor on the server
	codeNoTTL          = 10166
	codeNoBatches      = 10174

	codeAccountFull    = 10002
	codeServerFull     = 10023
	codeMemoryFull     = 10028
	codeStorageFull    = 10047
	codeMessageTooLong = 10054 // for the stream's max_msg_size
	codeNotStored      = 10077
	codeStreamBytes    = 10122 // more than the account allows a stream
)

// translate gives an error of the client to the caller: which act met it, and what to
// do. A full stream becomes [semel.ErrFull]; the rest wraps none of the contract's
// sentinels, which means that it is unknown whether the step was taken.
func (s *Store) translate(act string, err error) error { return translate(act, s.secrets, err) }

func translate(act string, secrets []string, err error) error {
	shown := redact(err, secrets)
	switch {
	case refused(err, codeMessageTooLong): // waiting does not help
		return fmt.Errorf("%w: natsstore: %s: %w%s", semel.ErrFull, act, shown, hintPayload)
	case full(err):
		return fmt.Errorf("%w: natsstore: %s: %w (%s)", semel.ErrFull, act, shown,
			"the stream or its account has reached a limit: raise max_bytes or the account's limits, or shorten retentions; it goes on as soon as records have expired")
	}
	if lasts(err) {
		shown = verb.Refused(shown)
	}
	if h := hint(err); h != "" {
		return fmt.Errorf("natsstore: %s: %w (%s)", act, shown, h)
	}
	return fmt.Errorf("natsstore: %s: %w", act, shown)
}

// redacted is an error without what was secret in its text. [errors.Is] sees what it was, for a secret may be a word that
// errors have anyway.
type redacted struct {
	err  error
	text string
}

func (r *redacted) Error() string { return r.text }

func (r *redacted) Is(target error) bool { return errors.Is(r.err, target) }

func redact(err error, secrets []string) error {
	text := err.Error()
	for _, secret := range secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "…")
		}
	}
	if text == err.Error() {
		return err
	}
	return &redacted{err: err, text: text}
}

// full reports whether a message was refused for want of room.
func full(err error) bool {
	e, ok := errors.AsType[*apiError](err)
	if !ok {
		return false
	}
	switch e.ErrCode {
	case codeAccountFull, codeServerFull, codeMemoryFull, codeStorageFull, codeStreamBytes:
		return true
	case codeNotStored: // its description says why
		return strings.Contains(e.Description, "maximum")
	}
	return false
}

// lasts reports whether the server refuses until an operator changes a setting or a right.
func lasts(err error) bool {
	if e, ok := errors.AsType[*apiError](err); ok {
		switch e.ErrCode {
		case codeAccountWithout, codeServerWithout, codeNoStream, codeNoTTL, codeNoBatches:
			return true
		}
	}
	return errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrAuthRevoked) || errors.Is(err, nats.ErrPermissionViolation)
}

// hint says what an operator can do about what the server answered.
func hint(err error) string {
	if e, ok := errors.AsType[*apiError](err); ok {
		switch e.ErrCode {
		case codeAccountWithout:
			return "the account of this user has no JetStream: enable it with jetstream: enabled in the account, or use another user"
		case codeServerWithout:
			return "the server has no JetStream: give it a jetstream block with a store_dir"
		case codeNoLeader:
			return "the cluster has no leader now: a majority of its servers must run"
		case codeNoStream:
			return "the stream does not exist: open the store without ReadOnly to make it"
		case codeNoTTL, codeNoBatches:
			return "the stream lacks a setting that the store needs: call Check, which says which one"
		}
		return ""
	}
	broken, _ := errors.AsType[*net.OpError](err) // the client shows each but a refusal, which is its ErrNoServers
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return "nothing answers: JetStream is off for the server or this account, the stream is gone, or the cluster has no leader now"
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked):
		return "check user and password in the DSN, with %-escapes, or creds"
	case errors.Is(err, nats.ErrPermissionViolation):
		return "grant this user the subjects that the package documentation lists, or open the store with ReadOnly"
	case errors.Is(err, nats.ErrNoServers), broken != nil:
		return "does a NATS server listen there? With TLS it is named tls://"
	}
	return ""
}
