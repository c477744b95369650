package webhook

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/semel-dev/semel/ids"
	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/webhooksig"
	"github.com/semel-dev/semel/outbox"
)

// Bounds of a [Sender].
const (
	defaultTimeout = 15 * time.Second

	// maxAnswerBytes of an answer are read, for at most drainTime: its status counts only if the answer is whole.
	maxAnswerBytes = 64 << 10
	drainTime      = time.Second
	maxHeadBytes   = 64 << 10
	idleTime       = 90 * time.Second
)

// Endpoint is the address that a receiver has given.
type Endpoint struct {
	// URL takes the deliveries. Without one the endpoint is switched off: its
	// messages fail for good.
	URL string
	// Secrets sign each delivery, 1 to 8: whsec_ and base64, or whsk_ and an Ed25519 key. Two
	// while the receiver replaces one by the other.
	Secrets []string
}

// SenderOptions are the settings of a [Sender]. A nil *SenderOptions is complete.
type SenderOptions struct {
	// Timeout bounds one delivery. A call of Publish begins none later than this after its
	// own beginning, and so takes at most twice as long. Default 15 s.
	Timeout time.Duration
	// AllowNetworks lists networks that may be reached although their addresses are private
	// or reserved. Default none.
	AllowNetworks []netip.Prefix
	// AllowHTTP allows URLs without TLS. What is sent can then be read on its way.
	AllowHTTP bool
	// Gone, when set, is called after an endpoint has answered 410. It should note that the
	// endpoint is switched off, so that the lookup returns no URL from then on. Until this
	// process ends, the sender does not deliver to this URL of the endpoint any more.
	Gone func(ctx context.Context, endpoint string)
	// Logger reports endpoints that are switched off. Default none.
	Logger *slog.Logger
}

// Sender delivers the messages of an outbox as Standard Webhooks. It is an
// [outbox.Publisher]. The topic of a message is the name of its endpoint, its id is the
// webhook-id of every attempt. It is safe for concurrent use. Make one with [NewSender].
type Sender struct {
	lookup  func(ctx context.Context, endpoint string) (Endpoint, error)
	set     SenderOptions
	client  *http.Client
	targets targets
}

// NewSender returns a sender. lookup finds an endpoint by the topic of a message, for each
// delivery; its error counts as a failed attempt. o may be nil.
func NewSender(lookup func(ctx context.Context, endpoint string) (Endpoint, error), o *SenderOptions) (*Sender, error) {
	s := &Sender{lookup: lookup}
	if o != nil {
		s.set = *o
	}
	if lookup == nil || s.set.Timeout < 0 {
		return nil, errors.New("webhook: new sender: lookup is required, and Timeout must not be negative")
	}
	s.set.Timeout = cmp.Or(s.set.Timeout, defaultTimeout)
	s.set.Logger = cmp.Or(s.set.Logger, slog.New(slog.DiscardHandler))
	if s.set.Gone == nil {
		s.set.Gone = func(context.Context, string) {}
	}
	dialer := &net.Dialer{Control: (&addresses{s.set.AllowNetworks, reserved()}).check}
	s.client = &http.Client{
		// No proxy: it would resolve the name, and connect, where no address is checked.
		Transport: &http.Transport{
			DialContext: dialer.DialContext, ForceAttemptHTTP2: true, DisableCompression: true, MaxResponseHeaderBytes: maxHeadBytes,
			MaxIdleConnsPerHost: 1, IdleConnTimeout: idleTime, TLSHandshakeTimeout: s.set.Timeout,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return s, nil
}

// Close closes idle connections. Deliveries under way go on.
func (s *Sender) Close() { s.client.CloseIdleConnections() }

// RelayOptions returns options for a relay with a [Sender]: a message is tried over three
// days, at first after 5 seconds, later every six hours, and is then put aside, so that the
// messages behind it go on. Set Logger and Observe in it.
func RelayOptions() *outbox.RelayOptions {
	return &outbox.RelayOptions{
		Batch: 64, Parallel: 8, PublishTimeout: 3 * defaultTimeout, MaxAttempts: 25, MinPause: 5 * time.Second, MaxPause: 6 * time.Hour,
		OnPoison: outbox.SkipMessage,
	}
}

// Fan returns one message for each endpoint, so that attempts are counted for each: add them
// in the same transaction. The topics are the names of the endpoints. The order of a key is
// kept for each endpoint; an ID that is set becomes one derived from it for each endpoint.
func Fan(m outbox.Message, endpoints ...string) []outbox.Message {
	all := make([]outbox.Message, 0, len(endpoints))
	for _, endpoint := range endpoints {
		one := m
		one.Topic = endpoint
		if m.ID != "" {
			one.ID = ids.Derive(nil, "semel webhook", m.ID, endpoint)
		}
		if m.Key != "" {
			one.Key = ids.Derive(nil, "semel webhook key", m.Key, endpoint)
		}
		all = append(all, one)
	}
	return all
}

// Publish implements [outbox.Publisher]. It delivers to each endpoint one message after
// the other, and to different endpoints at the same time. After 2xx a message is done;
// after 410 it fails for good, as do those that follow it to the endpoint.
func (s *Sender) Publish(ctx context.Context, batch []outbox.Message) []error {
	errs := make([]error, len(batch))
	latest := time.Now().Add(s.set.Timeout)
	groups := map[string][][2]int{} // runs of one key, by the endpoint of their first message
	for i := 0; i < len(batch); {
		end := i + 1
		for end < len(batch) && batch[i].Key != "" && batch[end].Key == batch[i].Key {
			end++
		}
		groups[batch[i].Topic] = append(groups[batch[i].Topic], [2]int{i, end})
		i = end
	}
	done := make(chan struct{})
	for _, runs := range groups {
		go func() {
			defer func() { done <- struct{}{} }()
			for _, run := range runs {
				s.deliverKey(ctx, batch[run[0]:run[1]], errs[run[0]:run[1]], latest)
			}
		}()
	}
	for range groups {
		<-done
	}
	return errs
}

// deliverKey delivers messages of one key in their order. Those behind a failure are not sent.
func (s *Sender) deliverKey(ctx context.Context, run []outbox.Message, errs []error, latest time.Time) {
	for i := range run {
		if errs[i] = s.tryDeliver(ctx, &run[i], latest); errs[i] != nil {
			for later := i + 1; later < len(run); later++ {
				errs[later] = errBehind
			}
			return
		}
	}
}

// tryDeliver is deliver, whose panics in the functions of SenderOptions are errors of the message.
func (s *Sender) tryDeliver(ctx context.Context, m *outbox.Message, latest time.Time) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("webhook: panic while a message was delivered: %v", dialect.DiscreetPanic(cause))
		}
	}()
	return s.deliver(ctx, m, latest)
}

var (
	errBehind = errors.New("webhook: an earlier message of the key was not delivered")
	errOff    = errors.New("webhook: the endpoint is switched off")
	errBusy   = errors.New("webhook: the endpoint is slow: the time was up before this delivery")
	errRests  = errors.New("webhook: the endpoint rests after a failure")
	errHeader = errors.New("webhook: the message has a header that HTTP does not allow")
	errDots   = errors.New("webhook: the id of the message has a full stop, which separates what is signed")
)

// deliver makes one attempt, when the endpoint is free and does not rest.
func (s *Sender) deliver(ctx context.Context, m *outbox.Message, latest time.Time) error {
	if strings.Contains(m.ID, ".") || m.ID == "" {
		return outbox.Permanent(errDots)
	}
	t := s.targets.use(m.Topic)
	defer s.targets.leave(m.Topic, t)
	waiting, cancel := context.WithDeadline(ctx, latest)
	defer cancel()
	select {
	case t.slot <- struct{}{}:
		defer func() { <-t.slot }()
	case <-waiting.Done():
		return outbox.Postponed(errBusy, 0)
	}
	if !time.Now().Before(latest) || ctx.Err() != nil {
		return outbox.Postponed(errBusy, 0)
	}
	if left := time.Until(t.rest); left > 0 {
		return outbox.Postponed(errRests, left)
	}
	to, err := s.lookup(ctx, m.Topic)
	if err != nil {
		return fmt.Errorf("webhook: look the endpoint up: %w", err)
	}
	if to.URL == "" || to.URL == t.gone {
		return outbox.Permanent(errOff)
	}
	after, err := s.post(ctx, m, &to)
	t.noteAttempt(after, err)
	if errors.Is(err, errGone) {
		t.gone = to.URL
		s.set.Logger.LogAttrs(ctx, slog.LevelWarn, "a webhook endpoint is gone, and was switched off", slog.String("endpoint", m.Topic))
		s.set.Gone(ctx, m.Topic)
		return outbox.Permanent(err)
	}
	if err != nil && after > 0 {
		return &retryError{err, after}
	}
	return err
}

var errGone = errors.New("webhook: the endpoint answered 410: it wants no more deliveries")

// retryError is an error that says when to try again.
type retryError struct {
	error
	after time.Duration
}

// RetryAfter returns the wait before the endpoint wants another delivery.
func (e *retryError) RetryAfter() time.Duration { return e.after }
func (e *retryError) Unwrap() error             { return e.error }

// post sends a delivery. after is the time for which the endpoint should be left alone.
func (s *Sender) post(ctx context.Context, m *outbox.Message, to *Endpoint) (after time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.set.Timeout)
	defer cancel()
	req, err := s.request(ctx, m, to)
	if err != nil {
		return 0, err
	}
	res, err := s.client.Do(req)
	if err != nil {
		if err = failure(err); errors.Is(err, errAddress) {
			return 0, err
		}
		return firstRest, err
	}
	defer func() { _ = res.Body.Close() }()
	defer time.AfterFunc(drainTime, cancel).Stop()
	_, err = io.CopyN(io.Discard, res.Body, maxAnswerBytes) // also so that the connection can be used again
	broken := err != nil && !errors.Is(err, io.EOF) && ctx.Err() == nil
	switch status := res.StatusCode; {
	case broken && (status < 300 || status == http.StatusGone): // the receiver may have died at its work
		return 0, fmt.Errorf("webhook: the endpoint's answer %d broke off: %w", status, failure(err))
	case status >= 200 && status < 300:
		return 0, nil
	case status == http.StatusGone:
		return 0, errGone
	case status >= 300 && status < 400:
		return 0, fmt.Errorf("webhook: the endpoint answered %d: redirects are not followed (have its owner change the URL)", status)
	case status == http.StatusTooManyRequests, status == http.StatusBadGateway, status == http.StatusServiceUnavailable, status == http.StatusGatewayTimeout:
		return max(firstRest, retryAfter(res.Header.Get("Retry-After"))), fmt.Errorf("webhook: the endpoint answered %d", status)
	default:
		return 0, fmt.Errorf("webhook: the endpoint answered %d", status)
	}
}

// request makes the request of a delivery, signed now.
func (s *Sender) request(ctx context.Context, m *outbox.Message, to *Endpoint) (*http.Request, error) {
	u, err := url.Parse(to.URL)
	if err != nil || u.Host == "" || u.Scheme != "https" && (u.Scheme != "http" || !s.set.AllowHTTP) {
		return nil, errors.New("webhook: the endpoint's URL does not begin with https://") // not repeated: it may hold credentials
	}
	if len(to.Secrets) == 0 || len(to.Secrets) > maxSecrets {
		return nil, fmt.Errorf("webhook: the endpoint has %d secrets, not 1 to %d", len(to.Secrets), maxSecrets)
	}
	at := time.Now()
	var signatures []string
	for i, text := range to.Secrets {
		key, err := webhooksig.ParseKey(text)
		if err == nil && !key.CanSign() {
			err = errors.New("a public key does not sign")
		}
		if err != nil {
			return nil, fmt.Errorf("webhook: secret %d of the endpoint: %w", i+1, err)
		}
		signatures = append(signatures, key.Sign(m.ID, at, m.Body))
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.URL, bytes.NewReader(m.Body))
	if err != nil {
		return nil, errors.New("webhook: the endpoint's URL cannot be used")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "Semel-Webhooks")
	own := http.Header{} // names that differ in their case alone are one header of HTTP, with several values
	for _, name := range slices.Sorted(maps.Keys(m.Header)) {
		value := m.Header[name]
		if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return nil, outbox.Permanent(errHeader)
		}
		own.Add(name, value)
	}
	maps.Copy(req.Header, own)
	for _, name := range []string{"Connection", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Expect"} {
		req.Header.Del(name)
	}
	req.Header[idHeader], req.Header[timeHeader] = []string{m.ID}, []string{strconv.FormatInt(at.Unix(), 10)}
	req.Header[signatureHeader] = []string{strings.Join(signatures, " ")}
	return req, nil
}
