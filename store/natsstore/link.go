package natsstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/semel-dev/semel/internal/waiting"
)

const (
	// requestTimeout bounds one request whose caller sets no earlier deadline: a cluster
	// without a leader does not answer. What only reads is asked again meanwhile.
	requestTimeout = 10 * time.Second
	askTimeout     = time.Second
	askTries       = int(requestTimeout / askTimeout)

	// downFor bounds how long a request waits for a connection that is being made again.
	downFor = time.Second
	// unheardTries, unheardFirst and unheardMost bound, to about a second, how often a
	// message is sent that no server heard.
	unheardTries = 8
	unheardFirst = 5 * time.Millisecond
	unheardMost  = 400 * time.Millisecond

	headerExpected = "Nats-Expected-Last-Subject-Sequence"
	headerStream   = "Nats-Expected-Stream"
	headerTTL      = "Nats-TTL"
)

// link is the connection, and the requests that wait for an answer on it.
type link struct {
	nc  *nats.Conn
	api string // the prefix of JetStream's API, with its dot

	mu      sync.Mutex      // guards the fields below
	life    context.Context //nolint:containedctx // the life of one connection, ended when it breaks.
	end     context.CancelCauseFunc
	changed chan struct{} // closed when the connection's state changes
}

var (
	errSilent  = fmt.Errorf("the server does not answer: %w", context.DeadlineExceeded)
	errDown    = errors.New("the server cannot be reached")
	errForeign = errors.New("another program answers on the stream's subjects")
	errBroken  = errors.New("the connection broke before the answer came")
)

func newLink(nc *nats.Conn, domain string) *link {
	l := &link{nc: nc, api: "$JS.API.", changed: make(chan struct{})}
	if domain != "" {
		l.api = "$JS." + domain + ".API."
	}
	l.life, l.end = context.WithCancelCause(context.Background())
	return l
}

// broken fails the requests that wait: their answers are lost, for this reason.
func (l *link) broken(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end(why)
	l.life, l.end = context.WithCancelCause(context.Background())
}

// change tells those that wait for the connection.
func (l *link) change() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.changed)
	l.changed = make(chan struct{})
}

// next is closed when the connection's state changes, or a try to make it has failed.
func (l *link) next() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changed
}

// current is the life of the present connection.
func (l *link) current() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.life
}

// watch follows the state of the connection until stop is closed.
func (l *link) watch(stop <-chan struct{}, status chan nats.Status) {
	for {
		select {
		case <-stop:
			return
		case now := <-status:
			if now != nats.CONNECTED {
				l.broken(errBroken)
			}
			l.change()
		}
	}
}

// bound limits a request to the life of the connection, and to requestTimeout.
func (l *link) bound(ctx context.Context) (context.Context, func()) {
	life := l.current()
	ctx, cancel := context.WithTimeoutCause(ctx, requestTimeout, errSilent)
	ctx, fail := context.WithCancelCause(ctx)
	forget := context.AfterFunc(life, func() { fail(context.Cause(life)) })
	return ctx, func() { forget(); fail(nil); cancel() }
}

// request sends a message and waits for the answer, which may never come. What was
// certainly not delivered is sent again: while the connection is being made anew it waits
// for one try, and while no server hears, as when the lead changes, a little longer.
func (l *link) request(ctx context.Context, m *nats.Msg) (answer *nats.Msg, err error) {
	unheard := waiting.Backoff{Tries: unheardTries, First: unheardFirst, Most: unheardMost}
	again := func(err error) bool { return errors.Is(err, nats.ErrNoResponders) }
	err = unheard.Do(ctx, again, func() (err error) {
		answer, err = l.requestConnected(ctx, m)
		return err
	})
	return answer, err
}

func (l *link) requestConnected(ctx context.Context, m *nats.Msg) (answer *nats.Msg, err error) {
	changed := l.next()
	answer, err = l.requestOnce(ctx, m)
	if !errors.Is(err, nats.ErrReconnectBufExceeded) {
		return answer, err
	}
	patience := time.NewTimer(downFor)
	defer patience.Stop()
	select {
	case <-changed: // it is there again, or a try has failed
		return l.requestOnce(ctx, m)
	case <-patience.C:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	return nil, errDown
}

// requestAgain makes a request that only reads until there is an answer: what came while
// a cluster had no leader gets none.
func (l *link) requestAgain(ctx context.Context, m *nats.Msg) (answer *nats.Msg, err error) {
	for range askTries {
		try, done := context.WithTimeoutCause(ctx, askTimeout, errSilent)
		answer, err = l.request(try, m)
		done()
		if !errors.Is(err, errSilent) || ctx.Err() != nil {
			break
		}
	}
	return answer, err
}

func (l *link) requestOnce(ctx context.Context, m *nats.Msg) (*nats.Msg, error) {
	ctx, done := l.bound(ctx)
	defer done()
	answer, err := l.nc.RequestMsgWithContext(ctx, m)
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return answer, err
}

// apiError is an error that JetStream answered.
type apiError struct {
	Code        int    `json:"code"`
	ErrCode     int    `json:"err_code"`
	Description string `json:"description"`
}

func (e *apiError) Error() string { return e.Description + " (" + strconv.Itoa(e.ErrCode) + ")" }

// ask makes a request of JetStream's API, and decodes its answer, in which fault receives
// an error of the server.
func (l *link) ask(ctx context.Context, subject string, body []byte, into any, fault **apiError) error {
	answer, err := l.requestAgain(ctx, &nats.Msg{Subject: l.api + subject, Data: body})
	if err != nil {
		return err
	}
	if err := json.Unmarshal(answer.Data, into); err != nil {
		return fmt.Errorf("read the answer to %s: %w", subject, err)
	}
	if *fault != nil {
		return *fault
	}
	return nil
}

// write is a message that is stored only when the last one on its subject has a certain
// sequence, or, for 0, when there is none.
type write struct {
	subject  string
	body     []byte
	expected uint64
	ttl      string
}

func (w *write) message(stream string) *nats.Msg {
	return &nats.Msg{Subject: w.subject, Data: w.body, Header: nats.Header{
		headerExpected: {fmt.Sprintf("%020d", w.expected)}, // as long for a settlement as for its claim: see ttl
		headerStream:   {stream},
		headerTTL:      {w.ttl},
	}}
}

// stored is the answer to a message.
type stored struct {
	Error    *apiError `json:"error"`
	Stream   string    `json:"stream"`
	Sequence uint64    `json:"seq"`
}

// publish stores a message and returns its sequence.
func (l *link) publish(ctx context.Context, stream string, w *write) (sequence uint64, err error) {
	return l.store(ctx, w.message(stream))
}

// store sends a message, and returns the sequence that the stream says it has. Another
// program that answers on the subject says nothing.
func (l *link) store(ctx context.Context, m *nats.Msg) (sequence uint64, err error) {
	answer, err := l.request(ctx, m)
	if err != nil {
		return 0, err
	}
	var s stored
	if err := json.Unmarshal(answer.Data, &s); err != nil {
		return 0, fmt.Errorf("read the answer to a message: %w", err)
	}
	if s.Error != nil {
		return 0, s.Error
	}
	if s.Sequence == 0 || s.Stream != m.Header.Get(headerStream) {
		return 0, errForeign
	}
	return s.Sequence, nil
}
