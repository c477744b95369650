package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/semel-dev/semel/internal/webhooksig"
)

// Scheme says how a sender signs its deliveries.
type Scheme uint8

// The schemes.
const (
	// Standard is Standard Webhooks: webhook-id, webhook-timestamp and webhook-signature
	// (v1 and v1a). All of it is signed: the id names the event.
	Standard Scheme = iota
	// Stripe is the scheme of Stripe, which others have copied: one header
	// Stripe-Signature with t= and v1=. Time and body are signed.
	Stripe
	// GitHub is the scheme of GitHub, which others have copied: X-Hub-Signature-256. The
	// body alone is signed: neither its time nor X-GitHub-Delivery.
	GitHub
)

// String returns the word of the scheme in a rules file.
func (s Scheme) String() string {
	if s > GitHub {
		return fmt.Sprintf("scheme(%d)", uint8(s))
	}
	return [...]string{"standard", "stripe", "github"}[s]
}

// The headers of the schemes, canonical.
const (
	idHeader        = "Webhook-Id"
	timeHeader      = "Webhook-Timestamp"
	signatureHeader = "Webhook-Signature"
	stripeHeader    = "Stripe-Signature"
	githubHeader    = "X-Hub-Signature-256"
)

// Headers returns the names, canonical, of the headers that the scheme reads.
func (s Scheme) Headers() []string {
	switch s {
	case Stripe:
		return []string{stripeHeader}
	case GitHub:
		return []string{githubHeader}
	case Standard:
	}
	return []string{idHeader, timeHeader, signatureHeader}
}

// Bounds of what a delivery may bring.
const (
	maxSignatures = 8
	// maxSeconds is in the year 36812.
	maxSeconds = 1 << 40
)

// The reasons why a delivery is refused; [Verifier.Verify] wraps one of them.
var (
	// ErrSignature: no signature is one of the sender's (401 signature-invalid).
	ErrSignature = errors.New("webhook: the delivery is not signed by the sender")
	// ErrTimestamp: it was signed too long ago, or for a time to come (401
	// signature-expired).
	ErrTimestamp = errors.New("webhook: the delivery was not signed recently")
	// ErrMalformed: its headers cannot be read, or in two ways (400 signature-malformed).
	ErrMalformed = errors.New("webhook: the delivery's headers cannot be read")
)

// delivery holds the headers of a request.
type delivery struct {
	id         string    // of Standard
	at         time.Time // zero where the scheme has no time
	signatures []string
}

// read reads the headers. It checks nothing.
func (s Scheme) read(h http.Header) (delivery, error) {
	switch s {
	case Stripe:
		return readStripe(h)
	case GitHub:
		return readGitHub(h)
	case Standard:
	}
	return readStandard(h)
}

// one returns the value of a header that must come once.
func one(h http.Header, name string) (string, error) {
	switch values := h[name]; {
	case len(values) == 0 || values[0] == "":
		return "", fmt.Errorf("%w: the header %s is missing", ErrSignature, name)
	case len(values) > 1:
		return "", fmt.Errorf("%w: the header %s came %d times", ErrMalformed, name, len(values))
	default:
		return values[0], nil
	}
}

// seconds reads a time in seconds, in its one spelling: it is signed as it is written.
func seconds(text, where string) (time.Time, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > maxSeconds || strconv.FormatInt(n, 10) != text {
		return time.Time{}, fmt.Errorf("%w: the time in %s is not a number of seconds", ErrMalformed, where)
	}
	return time.Unix(n, 0), nil
}

func readStandard(h http.Header) (d delivery, err error) {
	if d.id, err = one(h, idHeader); err != nil {
		return d, err
	}
	if strings.Contains(d.id, ".") { // else id, time and body can be cut in other places
		return d, fmt.Errorf("%w: the id in %s has a full stop, which separates what is signed", ErrMalformed, idHeader)
	}
	at, err := one(h, timeHeader)
	if err == nil {
		d.at, err = seconds(at, timeHeader)
	}
	if err != nil {
		return d, err
	}
	line, err := one(h, signatureHeader)
	d.signatures = strings.Fields(line)
	return d, few(d.signatures, signatureHeader, err)
}

func readStripe(h http.Header) (d delivery, err error) {
	line, err := one(h, stripeHeader)
	if err != nil {
		return d, err
	}
	var times []string
	for pair := range strings.SplitSeq(line, ",") {
		switch name, value, _ := strings.Cut(pair, "="); name {
		case "t":
			times = append(times, value)
		case "v1":
			d.signatures = append(d.signatures, value)
		}
	}
	if len(times) != 1 {
		return d, fmt.Errorf("%w: the header %s has %d times t=", ErrMalformed, stripeHeader, len(times))
	}
	d.at, err = seconds(times[0], stripeHeader)
	return d, few(d.signatures, stripeHeader, err)
}

func readGitHub(h http.Header) (d delivery, err error) {
	line, err := one(h, githubHeader)
	if err != nil {
		return d, err
	}
	signature, found := strings.CutPrefix(line, "sha256=")
	if !found {
		return d, fmt.Errorf("%w: the header %s does not begin with sha256=", ErrMalformed, githubHeader)
	}
	d.signatures = []string{signature}
	return d, nil
}

// few bounds the signatures that are compared.
func few(signatures []string, where string, err error) error {
	if err == nil && len(signatures) > maxSignatures {
		err = fmt.Errorf("%w: the header %s has %d signatures, more than %d", ErrMalformed, where, len(signatures), maxSignatures)
	}
	return err
}

// secret is one secret of a sender.
type secret struct {
	key webhooksig.Key // of Standard
	mac []byte         // of the others
}

// GoString and String keep it out of what is printed.
func (secret) GoString() string { return "webhook.secret(…)" }
func (s secret) String() string { return s.GoString() }

// parse reads a secret. The error does not repeat it.
func (s Scheme) parse(text string) (secret, error) {
	if s == Standard {
		key, err := webhooksig.ParseKey(text)
		if err == nil && key.IsPrivate() {
			err = errors.New("it is the private key, with which the sender signs (give the public key that belongs to it, whpk_ and base64)")
		}
		return secret{key: key}, err
	}
	if len(text) < webhooksig.MinSecretBytes {
		return secret{}, webhooksig.TooShortError(len(text))
	}
	return secret{mac: []byte(text)}, nil
}

// signed reports whether the secret made one of the delivery's signatures.
func (s Scheme) signed(by secret, d delivery, body []byte) bool {
	if s == Standard {
		return by.key.Verifies(d.signatures, d.id, d.at, body)
	}
	mac := hmac.New(sha256.New, by.mac)
	if s == Stripe {
		mac.Write([]byte(strconv.FormatInt(d.at.Unix(), 10) + "."))
	}
	mac.Write(body)
	want, found := mac.Sum(nil), false
	for _, signature := range d.signatures {
		raw, err := hex.DecodeString(signature)
		found = err == nil && hmac.Equal(raw, want) || found
	}
	return found
}
