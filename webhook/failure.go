package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	"github.com/semel-dev/semel/internal/mark"
)

// failure says in words of its own why a delivery got no answer. The errors of net and crypto/tls name the host and
// the address, where an owner puts secrets or looks for the sender's network, and those of net/http quote the answer.
func failure(err error) error {
	code, isCode := errors.AsType[syscall.Errno](err)
	switch {
	case errors.Is(err, errAddress):
		return errAddress
	case is[*net.DNSError](err):
		return errors.New("webhook: deliver: the endpoint's name cannot be resolved")
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("webhook: deliver: %w", context.Canceled)
	case mark.TimedOut(err):
		return fmt.Errorf("webhook: deliver: the endpoint did not answer in time: %w", context.DeadlineExceeded)
	case is[x509.HostnameError](err):
		return errors.New("webhook: deliver: the endpoint's certificate is for another name")
	case is[x509.UnknownAuthorityError](err):
		return errors.New("webhook: deliver: the endpoint's certificate is not signed by a known authority")
	case is[*tls.CertificateVerificationError](err):
		return errors.New("webhook: deliver: the endpoint's certificate is not valid, or no longer")
	case is[tls.RecordHeaderError](err), is[tls.AlertError](err):
		return errors.New("webhook: deliver: the TLS handshake with the endpoint failed")
	case isCode:
		return fmt.Errorf("webhook: deliver: the connection to the endpoint failed: %w", code)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("webhook: deliver: the endpoint closed the connection without an answer")
	}
	return errors.New("webhook: deliver: the endpoint's answer cannot be read")
}

// is reports whether the error wraps one of type E.
func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
