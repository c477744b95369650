package wire

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
)

// The errors for a request without an answer. All but ErrUnreachable and ErrTLS leave open whether the service did something.
var (
	ErrUnreachable = errors.New("the service could not be reached")
	ErrTLS         = errors.New("no TLS connection to the service")
	ErrCut         = errors.New("the connection was closed before the end of the answer")
	ErrTimeout     = errors.New("no answer in time")
	ErrNotHTTP     = errors.New("the answer is not HTTP/1.1")
	// ErrLost reports a requested fault. With LoseAnswer and CutInAnswer the answer, which the client never saw, is
	// returned with it.
	ErrLost = errors.New("the answer was lost on purpose")
	// ErrNoH2 is returned by OpenH2 for a service without HTTP/2.
	ErrNoH2 = errors.New("the service has no HTTP/2 at this address")

	errPortIsTLS   = errors.New("the port speaks TLS: write https:// in the URL")
	errPortIsPlain = errors.New("the port speaks plain HTTP: write http:// in the URL")
	errLongHead    = errors.New("the head of the answer does not end")
	errInterim     = errors.New("interim answers (1xx) do not end")
	errSwitched    = errors.New("the service switched to another protocol without being asked")
)

// because prefers the error of an ended context to its consequence.
func because(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// noTLS returns the reason for a failed TLS connection, and what to do.
func noTLS(err error) error {
	if record, ok := errors.AsType[tls.RecordHeaderError](err); ok && bytes.HasPrefix(record.RecordHeader[:], []byte("HTTP/")) {
		return fmt.Errorf("%w: %w", ErrTLS, errPortIsPlain)
	}
	if isCertificate(err) {
		return fmt.Errorf("%w: %w (name the authority with --cacert, or accept any certificate with --insecure)", ErrTLS, err)
	}
	return fmt.Errorf("%w: %w", ErrTLS, err)
}

func isCertificate(err error) bool {
	_, verification := errors.AsType[*tls.CertificateVerificationError](err)
	_, name := errors.AsType[x509.HostnameError](err)
	_, authority := errors.AsType[x509.UnknownAuthorityError](err)
	return verification || name || authority
}

// noAnswer classifies the error of reading the head of an answer.
func noAnswer(err error) error {
	if _, refused := errors.AsType[tls.AlertError](err); refused {
		return fmt.Errorf("%w: %w", ErrTLS, err)
	}
	if isBroken(err) {
		return fmt.Errorf("%w: %w", ErrCut, err)
	}
	return fmt.Errorf("%w: %w", ErrNotHTTP, err)
}

// maxHintBody is the longest body that [wrongScheme] searches: those answers are one sentence.
const maxHintBody = 4 << 10

// wrongScheme recognises the answers of net/http, nginx and Apache to plain HTTP at a TLS port. They have no status of
// their own for it.
func wrongScheme(answer *Answer) bool {
	if answer.Status != http.StatusBadRequest || len(answer.Body) > maxHintBody {
		return false
	}
	for _, phrase := range []string{
		"Client sent an HTTP request to an HTTPS server",
		"The plain HTTP request was sent to HTTPS port",
		"speaking plain HTTP to an SSL-enabled server port",
	} {
		if bytes.Contains(answer.Body, []byte(phrase)) {
			return true
		}
	}
	return false
}
