package semelhttp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/refusal"
	"github.com/semel-dev/semel/internal/waiting"
	"github.com/semel-dev/semel/outcomelog"
)

// Defaults of [Options].
const (
	DefaultHeader    = "Idempotency-Key"
	DefaultPolicyURL = refusal.PolicyURL

	defaultMaxBodyBytes      = 64 << 20
	defaultSpoolBytes        = 4 << 20
	defaultMaxHeldBytes      = 8 << 20
	defaultMaxCanonicalBytes = 1 << 20
	defaultAbandonAfter      = time.Minute

	// envelopeRoom is left by the default of MaxResponseBytes for the
	// status and the headers.
	envelopeRoom = 4 << 10
)

// On5xx says how a claim ends whose handler answered with a 5xx status. A panic
// leaves the outcome unknown, unless failures are stored, or rolled back with a
// transaction; so does a 5xx that a layer inside of the door writes because it
// recovered a panic, and one of an [http.TimeoutHandler] inside of it.
type On5xx uint8

const (
	// ReleaseOn5xx says that after a failure nothing happened; a retry runs. It
	// does not apply to 502, 504, 520 and others by which a proxy says that it got no
	// answer, nor if the claim's context has ended (lost, or MaxRun): then the outcome
	// is unknown. In a transaction (Options.Transactor) these roll back like any other
	// failure, and are released.
	ReleaseOn5xx On5xx = iota
	// StoreOn5xx makes a failure the outcome, which is replayed.
	StoreOn5xx
	// UnknownOn5xx says that after a failure it is not known what happened, nor
	// after a redirect to what looks like a sign-in page of another host.
	UnknownOn5xx
)

// Options are the settings of a [Middleware]. A nil *Options is complete.
type Options struct {
	// Key finds the key of a request. Default FromHeader(DefaultHeader).
	Key KeySource
	// Required refuses a request without a key (400 key-missing). Otherwise it
	// passes untouched.
	Required bool
	// Methods are those that carry keys; requests with others pass untouched.
	// Default POST and PATCH.
	Methods []string
	// MaxBodyBytes is the largest request body (413 body-too-large, nothing is
	// executed). Default 64 MiB.
	MaxBodyBytes int64
	// SpoolBytes of a request body are kept in memory; a longer one goes to a
	// temporary file, which is gone when the request has ended. So does one of more than
	// 256 KiB while all such bodies have 32 MiB. Default 4 MiB.
	SpoolBytes int64
	// SpoolDir is the directory of temporary files. Default os.TempDir().
	SpoolDir string
	// MaxResponseBytes is the largest response body that is kept for replay. A
	// longer one is streamed, and later attempts get 409 response-not-kept.
	// Default, and most: the policy's MaxOutcomeBytes, less room for headers.
	MaxResponseBytes int
	// MaxCapturedBytes bounds the memory of all answers that are held back until
	// they are complete, beyond 16 KiB of each. An answer that finds no room is
	// streamed, and later attempts get 409 response-not-kept. A transaction is rolled
	// back instead, and the request gets 503 rolled-back. Default 32 MiB.
	MaxCapturedBytes int64
	// Transactor, when set, runs every handler that has a claim inside of a
	// transaction (promise 4), which it finds in the context of its request,
	// such as with pgstore.TxFrom: what it writes there commits together with
	// the recorded answer, before the first byte of the answer goes out. A
	// panic, a 5xx answer, or a client that goes away rolls back; so does a
	// status that releases, and Dispose. It must use the database of the
	// guard's store. Requests without a key have no transaction (see Required).
	Transactor semel.Transactor
	// MaxHeldBytes, with a Transactor, is the largest body that is held back
	// until the commit; beyond it the transaction is rolled back (500
	// response-too-large). At least MaxResponseBytes. Default
	// 8 MiB.
	MaxHeldBytes int
	// On5xx applies to 5xx answers, unless the handler says more with Dispose.
	// Default ReleaseOn5xx.
	On5xx On5xx
	// BufferFlush makes Flush wait for the whole answer, so that it can be
	// kept, unless its Content-Type is one that only makes sense as a stream
	// (text/event-stream, application/x-ndjson, multipart/x-mixed-replace,
	// application/grpc). Otherwise the first Flush starts a stream, and a
	// streamed answer is not kept. A proxy wants true.
	BufferFlush bool
	// AbandonAfter bounds how long a streamed answer may stall once
	// its caller has gone; then the context of its handler ends, before MaxRun.
	// Until the handler has returned, its claim counts among the guard's
	// LiveClaims. Default one minute; negative for MaxRun alone.
	AbandonAfter time.Duration
	// Fingerprint says what makes two requests the same.
	Fingerprint FingerprintOptions
	// BeforeReplay, when set, is asked before an answer that reveals an
	// earlier attempt is given: a replay, and the refusals in-flight,
	// key-reused, outcome-unknown, response-not-kept, response-unreadable,
	// cancelled and duplicate. [Middleware.StatusHandler] asks it too.
	// It checks a right that may have ended since the first
	// attempt, and costs nothing otherwise: an execution asks the handler.
	//
	// rec is the record; nil where the caller may know nothing of it, because
	// it sent another request under the key. Ask about rec: of a completed record
	// [ParseResponse] reads the recorded answer. r is the repetition, and agrees with
	// the first request in scope, key and fingerprint alone: with [Derived] fields, or
	// a Fingerprint.Func, it may say something else in whatever those leave out, and a
	// right to that is not the right to see this answer. The body of the request has
	// been read. With nil the answer is given. With a [*DeniedError] its handler
	// answers; with any other error the caller gets 503
	// authorisation-unavailable, without its text. Nothing runs, and nothing of
	// the record is revealed. It is called concurrently, and holds no claim.
	BeforeReplay func(r *http.Request, rec *semel.Record) error
	// FailOpen executes unprotected when the store cannot be reached (promise
	// 10 then does not hold), unless the store reported a record before it went
	// away. The reply says Idempotency-Status: unprotected.
	FailOpen bool
	// InFlightStatus is the status of the refusal in-flight for programs: 409, or 503, which clients that know no problem
	// documents retry while they give up at a 409. A page for people has 409. Default 409.
	InFlightStatus int
	// StripeErrors adds to every problem what the SDKs of Stripe look for: the member error, without which stripe-node takes
	// a refusal for the object that it asked for, and the header Stripe-Should-Retry. Requests of these SDKs (with the header
	// X-Stripe-Client-User-Agent) get both in any case.
	StripeErrors bool
	// PolicyURL is the address of PolicyHandler; problems link to it.
	// Default DefaultPolicyURL.
	PolicyURL string
	// ScopeText describes the scope to callers in the published policy.
	// Default: "the caller and the operation".
	ScopeText string
	// OnDecision, when set, is called for every request that had a key or lacked
	// a required one, after the answer was written. It must return at once.
	OnDecision func(context.Context, Decision)
}

// FingerprintOptions say what makes two requests the same, in addition to method,
// host, path, query, content type and content encoding. Headers that say what is asked
// for count always: preconditions (If-Match, If-None-Match, If-Unmodified-Since),
// Content-Range, Destination, Overwrite, Slug, Upload-Offset, and those that replace
// the method (X-HTTP-Method-Override, X-HTTP-Method, X-Method-Override) or the path
// (X-Original-URL, X-Rewrite-URL).
type FingerprintOptions struct {
	// CanonicalJSON ignores white space and the order of members in a JSON
	// body. A body that is not JSON, or longer than MaxCanonicalBytes, counts
	// byte for byte.
	CanonicalJSON bool
	// MaxCanonicalBytes is the longest body that is canonicalised. Default
	// 1 MiB.
	MaxCanonicalBytes int64
	// Headers names further request headers that count.
	Headers []string
	// Func, when set, replaces all of the above.
	Func func(*http.Request, *Body) (semel.Fingerprint, error)
}

// Decision describes one request, for logs and metrics. It holds neither the
// key nor anything else that is secret.
type Decision struct {
	Outcome  outcomelog.Outcome
	Executed bool // the handler ran
	Status   int  // of the answer; 0 when none was written (a panic, a hijacked connection)
	Digest   semel.Digest
	Fence    semel.Fence
	Attempt  int
	Begin    time.Duration // spent in Guard.Begin: the store, and waiting for a running twin
	Waited   time.Duration // of Begin, for a running twin whose answer was replayed
	Took     time.Duration // all of it
	Method   string
	Pattern  string // http.Request.Pattern, when known
	Err      error  // why, when it did not go well
	// Said, Rule and Fields were noted by guards in the database under the
	// handler's context, see [outcomelog.Note]: what it came to there, and by
	// which uniqueness rule.
	Said   outcomelog.Outcome
	Rule   string
	Fields []string
	// Location is that of the handler's answer.
	Location string
}

// settings are the options with the defaults filled in.
type settings struct {
	Options
	source     *headerSource // Key, when it is the usual kind
	keyHeader  string        // the header that holds the key, if it is one
	formField  bool          // a field of a form does
	formToken  bool          // a token of FormTokens does
	varyOnKey  []string      // the Vary header of what depends on the key alone, shared as words are
	policyLink []string
	headers    []string // Fingerprint.Headers, canonical
	captured   *waiting.Bytes
}

func (o *Options) withDefaults(policy *semel.Policy) (settings, error) {
	var s settings
	if o != nil {
		s.Options = *o
	}
	if s.Key == nil {
		s.Key = FromHeader(DefaultHeader)
	}
	s.source, _ = s.Key.(*headerSource) // nil for another kind
	if header, ok := sourceAs[*headerSource](s.Key); ok {
		s.keyHeader = header.name
	}
	_, s.formField = sourceAs[*formSource](s.Key)
	_, s.formToken = sourceAs[*FormTokens](s.Key)
	s.varyOnKey = []string{s.keyHeader}
	if len(s.Methods) == 0 {
		s.Methods = []string{http.MethodPost, http.MethodPatch}
	}
	s.Methods = slices.Clone(s.Methods)
	s.MaxBodyBytes = cmp.Or(s.MaxBodyBytes, defaultMaxBodyBytes)
	s.SpoolBytes = cmp.Or(s.SpoolBytes, defaultSpoolBytes)
	s.Fingerprint.MaxCanonicalBytes = cmp.Or(s.Fingerprint.MaxCanonicalBytes, defaultMaxCanonicalBytes)
	s.MaxResponseBytes = cmp.Or(s.MaxResponseBytes, max(policy.MaxOutcomeBytes-envelopeRoom, policy.MaxOutcomeBytes/2))
	s.MaxHeldBytes = cmp.Or(s.MaxHeldBytes, max(defaultMaxHeldBytes, s.MaxResponseBytes))
	s.MaxCapturedBytes = cmp.Or(s.MaxCapturedBytes, waiting.MostCaptured)
	s.captured = &waiting.Bytes{Most: s.MaxCapturedBytes, Bodies: &waiting.Bytes{Most: waiting.MostCaptured}}
	s.AbandonAfter = cmp.Or(s.AbandonAfter, defaultAbandonAfter)
	s.InFlightStatus = cmp.Or(s.InFlightStatus, http.StatusConflict)
	s.PolicyURL = cmp.Or(s.PolicyURL, DefaultPolicyURL)
	s.ScopeText = cmp.Or(s.ScopeText, "the caller and the operation")
	for _, name := range s.Fingerprint.Headers {
		s.headers = append(s.headers, http.CanonicalHeaderKey(name))
	}
	s.policyLink = []string{refusal.PolicyLink(s.PolicyURL)}
	return s, s.check(policy)
}

func (s *settings) check(policy *semel.Policy) error {
	if source, ok := s.Key.(interface{ check() error }); ok {
		if err := source.check(); err != nil {
			return err
		}
	}
	for _, method := range s.Methods {
		if method != strings.ToUpper(method) {
			return fmt.Errorf("semelhttp: no request has the method %q: write %q in Methods", method, strings.ToUpper(method))
		}
	}
	switch {
	case s.MaxBodyBytes < 0 || s.SpoolBytes < 0 || s.MaxResponseBytes < 0 || s.Fingerprint.MaxCanonicalBytes < 0:
		return errors.New("semelhttp: MaxBodyBytes, SpoolBytes, MaxResponseBytes and Fingerprint.MaxCanonicalBytes must not be negative (leave them out for the defaults)")
	case s.MaxResponseBytes > policy.MaxOutcomeBytes:
		return fmt.Errorf("semelhttp: MaxResponseBytes is %d, but the policy keeps outcomes of %d bytes (raise Policy.MaxOutcomeBytes)",
			s.MaxResponseBytes, policy.MaxOutcomeBytes)
	case s.MaxCapturedBytes < 0:
		return errors.New("semelhttp: MaxCapturedBytes must not be negative (leave it out for the default)")
	case s.MaxHeldBytes < s.MaxResponseBytes:
		return errors.New("semelhttp: MaxHeldBytes is smaller than MaxResponseBytes")
	case s.Transactor != nil && s.FailOpen:
		return errors.New("semelhttp: FailOpen and Transactor exclude each other: a transaction needs the database")
	case s.InFlightStatus != http.StatusConflict && s.InFlightStatus != http.StatusServiceUnavailable:
		return fmt.Errorf("semelhttp: InFlightStatus is %d: it can be 409 or 503", s.InFlightStatus)
	case s.On5xx > UnknownOn5xx:
		return fmt.Errorf("semelhttp: On5xx has a value that does not exist: %d", s.On5xx)
	case strings.ContainsAny(s.PolicyURL, "<>\"\r\n "):
		return fmt.Errorf("semelhttp: PolicyURL %q is not a URL", s.PolicyURL)
	}
	return nil
}
