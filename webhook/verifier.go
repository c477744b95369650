package webhook

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/semelhttp"
)

// Defaults of [VerifierOptions], and of what a [Verifier] hands to semelhttp.
const (
	defaultTolerance    = 5 * time.Minute
	defaultRetention    = 7 * 24 * time.Hour
	defaultRedelivery   = 4 * 24 * time.Hour
	defaultMaxBodyBytes = 1 << 20

	maxSecrets = 8
	// clockMargin is the most by which clocks may differ: of two hosts that verify, or of theirs and the store's.
	clockMargin = time.Minute
)

// eventBody is the [VerifierOptions.Event] that lets the whole body name the event.
const eventBody = "body"

// VerifierOptions are the settings of a [Verifier].
type VerifierOptions struct {
	// Scheme says in which way the sender signs. Default Standard.
	Scheme Scheme
	// Secrets are those that the sender may sign with, 1 to 8: two while one replaces the
	// other. Of Standard: whsec_ and base64, or the public key, whpk_ and base64; of the
	// others the text as it is. At least 16 bytes each.
	Secrets []string
	// Tolerance bounds the distance of a signature's time from now, before or after.
	// GitHub's signatures have no time. Default 5 minutes.
	Tolerance time.Duration
	// Event says what names the event in the signed body: a JSON pointer such as "/id", or
	// "body". Two deliveries of one name are one event: with a pointer their bodies may differ.
	// Default "/id" of Stripe, "body" of GitHub. Standard has its own id, and wants none.
	Event string
	// Retention is the least time for which an event is remembered; a delivery that comes
	// later runs again. Default 7 days.
	Retention time.Duration
	// Redelivery is the longest time after which the sender may deliver an event again.
	// [NewVerifier] logs a warning when Retention is shorter. Default 4 days, which is
	// longer than the schedules of Standard Webhooks and Stripe.
	Redelivery time.Duration
	// Now is the clock that Tolerance is measured by. Default time.Now.
	Now func() time.Time
	// Logger gets the warning. Default none.
	Logger *slog.Logger
}

// Verifier checks that deliveries are signed by their sender, and finds the key of each in
// what is signed. It is a [semelhttp.KeySource]. Make one with [NewVerifier]. It is safe for
// concurrent use.
type Verifier struct {
	set     VerifierOptions
	secrets []secret
	event   semelhttp.KeySource // at the pointer; nil without one
}

// NewVerifier returns a verifier. The error says what cannot work, and never repeats a secret.
func NewVerifier(o *VerifierOptions) (*Verifier, error) {
	if o == nil || len(o.Secrets) == 0 {
		return nil, errors.New("webhook: new verifier: Secrets is empty (copy the secret that the sender shows for this endpoint)")
	}
	v := &Verifier{set: *o}
	s := &v.set
	s.Tolerance = cmp.Or(s.Tolerance, defaultTolerance)
	s.Retention = cmp.Or(s.Retention, defaultRetention)
	s.Redelivery = cmp.Or(s.Redelivery, defaultRedelivery)
	s.Logger = cmp.Or(s.Logger, slog.New(slog.DiscardHandler))
	if s.Now == nil {
		s.Now = time.Now
	}
	switch s.Scheme {
	case Stripe:
		s.Event = cmp.Or(s.Event, "/id")
	case GitHub:
		s.Event = cmp.Or(s.Event, eventBody)
	case Standard:
	}
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("webhook: new verifier: %w", err)
	}
	for i, text := range s.Secrets {
		parsed, err := s.Scheme.parse(text)
		if err != nil {
			return nil, fmt.Errorf("webhook: new verifier: secret %d: %w", i+1, err)
		}
		v.secrets = append(v.secrets, parsed)
	}
	s.Secrets = nil
	if strings.HasPrefix(s.Event, "/") {
		v.event = semelhttp.FromJSONPointer(s.Event)
		notJSON := &http.Request{Header: http.Header{"Content-Type": {"text/plain"}}}
		if _, _, err := v.event.Key(notJSON, nil); err != nil { // of the pointer
			return nil, fmt.Errorf("webhook: new verifier: Event: %w", err)
		}
	}
	if s.Retention < s.Redelivery {
		s.Logger.LogAttrs(context.Background(), slog.LevelWarn,
			"the sender of these webhooks may deliver an event again after it was forgotten, and it then runs again (raise the retention)",
			slog.Duration("retention", s.Retention), slog.Duration("redelivery", s.Redelivery))
	}
	return v, nil
}

// check reports what cannot work.
func (o *VerifierOptions) check() error {
	switch {
	case o.Scheme > GitHub:
		return fmt.Errorf("option Scheme has a value that does not exist: %d", o.Scheme)
	case len(o.Secrets) > maxSecrets:
		return fmt.Errorf("option Secrets has %d elements, more than %d (remove those that the sender no longer signs with)", len(o.Secrets), maxSecrets)
	case o.Tolerance < time.Second || o.Redelivery < 0:
		return errors.New("option Tolerance must be a second or more, and Redelivery must not be negative (leave them out for the defaults)")
	case o.Scheme != GitHub && o.Retention < 2*o.Tolerance+clockMargin:
		return fmt.Errorf("option Retention is %v, less than twice the Tolerance of %v and %v: a delivery that is still valid would be forgotten, and run again",
			o.Retention, o.Tolerance, clockMargin)
	case o.Retention < time.Second:
		return errors.New("option Retention must be a second or more")
	case o.Scheme == Standard && o.Event != "":
		return errors.New("option Event does not apply to Standard Webhooks: the signed webhook-id names the event")
	case o.Scheme != Standard && o.Event != eventBody && !strings.HasPrefix(o.Event, "/"):
		return fmt.Errorf("option Event %q is neither a JSON pointer, such as \"/id\", nor %q", o.Event, eventBody)
	}
	return nil
}

// Verify checks the signature and its time. The error wraps [ErrSignature],
// [ErrTimestamp] or [ErrMalformed], and holds nothing secret. Header names must be
// canonical, as net/http has them; body is the body as it came, to its last byte.
func (v *Verifier) Verify(header http.Header, body []byte) error {
	d, err := v.read(header)
	if err != nil {
		return err
	}
	return v.verify(d, body)
}

// read reads the headers and checks the time: what can be refused without the body.
func (v *Verifier) read(header http.Header) (delivery, error) {
	d, err := v.set.Scheme.read(header)
	if err != nil || d.at.IsZero() {
		return d, err
	}
	now, most := v.set.Now(), v.set.Tolerance
	if d.at.Before(now.Add(-most)) || d.at.After(now.Add(most)) {
		return d, fmt.Errorf("%w: its time is more than %v from this server's", ErrTimestamp, most)
	}
	return d, nil
}

// verify checks the signature, by all secrets: how many there are must not show.
func (v *Verifier) verify(d delivery, body []byte) error {
	found := false
	for _, by := range v.secrets {
		found = v.set.Scheme.signed(by, d, body) || found
	}
	if !found {
		return ErrSignature
	}
	return nil
}

// Key implements [semelhttp.KeySource]: the name of the event, from what the sender
// signed. The error of a delivery that is not signed, or not recently, is a
// [*semelhttp.UnverifiedError].
func (v *Verifier) Key(r *http.Request, body *semelhttp.Body) (string, bool, error) {
	if r.Method != http.MethodPost { // it is not signed: a stranger could make a DELETE of a recorded delivery
		return "", true, refusal(errMethod)
	}
	d, err := v.read(r.Header)
	if err != nil {
		return "", true, refusal(err)
	}
	text, err := bytesOf(body)
	if err != nil {
		return "", true, err
	}
	if err := v.verify(d, text); err != nil {
		return "", true, refusal(err)
	}
	switch {
	case v.set.Scheme == Standard:
		return d.id, true, nil
	case v.event == nil:
		sum := sha256.Sum256(text)
		return "sha256:" + hex.EncodeToString(sum[:]), true, nil
	}
	name, found, err := v.event.Key(r, body)
	switch {
	case errors.Is(err, semel.ErrKeyInvalid):
		err = refusal(fmt.Errorf("%w: %s", errEvent, strings.TrimPrefix(err.Error(), semel.ErrKeyInvalid.Error()+": ")))
	case err == nil && (!found || name == ""):
		err = refusal(fmt.Errorf("%w: %s", errEvent, v.set.Event))
	}
	return name, true, err
}

func bytesOf(body *semelhttp.Body) ([]byte, error) {
	from, err := body.Open()
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(from)
	if err != nil {
		return nil, fmt.Errorf("webhook: read the body again: %w", err)
	}
	return text, nil
}

// GoString implements fmt.GoStringer, without the secrets.
func (v *Verifier) GoString() string { return "webhook.Verifier(" + v.set.Scheme.String() + ")" }

// String describes the key in the published policy.
func (v *Verifier) String() string {
	switch {
	case v.set.Scheme == Standard:
		return "header webhook-id, as signed by the sender"
	case v.event == nil:
		return "digest of the body, as signed by the sender"
	}
	return v.event.String() + ", as signed by the sender"
}

// Fingerprint is that of a delivery, for [semelhttp.FingerprintOptions.Func]: the body, or
// nothing where a pointer into the body names the event, because such senders change
// other members between two deliveries. No header counts: only the body is signed.
func (v *Verifier) Fingerprint(_ *http.Request, body *semelhttp.Body) (semel.Fingerprint, error) {
	if v.event != nil {
		return semel.FingerprintOf("webhook/1", "event"), nil
	}
	text, err := bytesOf(body)
	if err != nil {
		return semel.Fingerprint{}, err
	}
	var h semel.Hasher
	h.Add("webhook/1")
	h.AddBytes(text)
	return h.Sum(), nil
}

// Scope returns the scope of an endpoint's deliveries. It does not look at the request: host,
// path and credentials are not signed.
func (v *Verifier) Scope(endpoint string) semelhttp.ScopeFunc {
	return func(*http.Request) (string, error) { return "webhook:" + endpoint, nil }
}

// Handler returns a handler that lets deliveries to the endpoint through to next, each
// event once: a repetition, even days later, gets the recorded answer. Anything that the
// sender did not sign recently is refused before next and the store see it.
//
// The records have the scope "webhook:"+endpoint and are kept for
// [VerifierOptions.Retention], or for the guard's if that is longer. o may be nil; Key,
// Required, Methods and Fingerprint are set here. MaxBodyBytes is 1 MiB unless it is set.
func (v *Verifier) Handler(g *semel.Guard, endpoint string, next http.Handler, o *semelhttp.Options) (http.Handler, error) {
	if g == nil || endpoint == "" || next == nil {
		return nil, errors.New("webhook: handler: guard, endpoint and next are required (the endpoint is a name of your own, such as \"payments\")")
	}
	var set semelhttp.Options
	if o != nil {
		set = *o
	}
	if set.Key != nil || len(set.Methods) > 0 || set.Fingerprint.Func != nil {
		return nil, errors.New("webhook: handler: Key, Methods and Fingerprint.Func are the verifier's (leave them out)")
	}
	set.Key, set.Required, set.Methods, set.Fingerprint.Func = v, true, []string{http.MethodPost}, v.Fingerprint
	set.MaxBodyBytes = cmp.Or(set.MaxBodyBytes, defaultMaxBodyBytes)
	set.ScopeText = cmp.Or(set.ScopeText, "the endpoint")
	policy := g.Policy()
	policy.Retention = max(policy.Retention, v.set.Retention)
	policy.UnknownRetention = max(policy.UnknownRetention, policy.Retention)
	guard, err := g.With(policy)
	if err != nil {
		return nil, fmt.Errorf("webhook: handler: %w", err)
	}
	door, err := semelhttp.New(guard, v.Scope(endpoint), &set)
	if err != nil {
		return nil, fmt.Errorf("webhook: handler: %w", err)
	}
	once := door.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			semelhttp.WriteProblem(w, r, problems()[methodRow].problem)
			return
		}
		once.ServeHTTP(w, r)
	}), nil
}
