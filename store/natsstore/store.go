package natsstore

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/internal/verb"
)

const (
	// dialTimeout bounds the making of one connection.
	dialTimeout = 5 * time.Second
	// firstReconnect and longestReconnect bound the pauses before a server that was lost
	// is tried again.
	firstReconnect   = 10 * time.Millisecond
	longestReconnect = 2 * time.Second
)

var (
	_ semel.Store   = (*Store)(nil)
	_ semel.Monitor = (*Store)(nil)
)

// Store keeps records in a JetStream stream. [Open] and [New] are the doors. It is safe
// for concurrent use, and any number of processes may share a stream.
type Store struct {
	link    *link
	opts    Options
	owned   bool     // Close closes the connection
	secrets []string // that no error may repeat
	clock   clock
	held    held
	seen    atomic.Pointer[settings] // the stream's

	gate    verb.Gate
	closing chan struct{} // closed when Close begins
	stop    chan struct{} // closed when no verb runs any more

	watching sync.WaitGroup
}

// Open connects to the server that the DSN names, makes the stream when there is none,
// and makes the checks of [Store.Check]:
//
//	nats://[user:password@]host[:4222]?sync=always[&parameters]
//	tls://…    the same over TLS
//
//	sync=always            Options.Sync: how the servers are configured
//	stream=SEMEL           Options.Stream
//	subject=semel          Options.Subject
//	domain=hub             Options.Domain
//	replicas=3             Options.Replicas
//	max_bytes=1000000000   Options.MaxBytes
//	creds=/run/app.creds   a file with the user's credentials
//	addr=host:port         a further server of the cluster; may be repeated
//
// What the DSN says counts more than the options. No error repeats the password. Close
// the store to free its connection.
func Open(ctx context.Context, dsn string, o *Options) (*Store, error) {
	if o == nil {
		o = &Options{}
	}
	d, err := parseDSN(dsn, *o)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var made atomic.Pointer[link]
	nc, err := d.connect(ctx, &made)
	if err != nil {
		return nil, translate("open "+d.servers[0], d.secrets, err)
	}
	s, err := newStore(nc, &d.opts)
	if err != nil {
		nc.Close()
		return nil, err
	}
	made.Store(s.link)
	s.owned, s.secrets = true, d.secrets
	if err := s.Check(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// New returns a store over the caller's connection. It does not speak to the server:
// [Store.Check] makes the stream when there is none, and says whether server and stream
// are fit. The caller closes the connection after the store.
func New(nc *nats.Conn, o *Options) (*Store, error) {
	opts, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	return newStore(nc, &opts)
}

func newStore(nc *nats.Conn, o *Options) (*Store, error) {
	s := &Store{link: newLink(nc, o.Domain), opts: *o, closing: make(chan struct{}), stop: make(chan struct{})}
	s.gate.Name, s.gate.ReadOnly = "natsstore", o.ReadOnly
	s.clock.read = s.serverTime
	status := nc.StatusChanged(nats.CONNECTED, nats.RECONNECTING, nats.DISCONNECTED, nats.CLOSED)
	s.watching.Go(func() {
		defer nc.RemoveStatusListener(status)
		s.link.watch(s.stop, status)
	})
	return s, nil
}

// connect opens the connection. The link that is made of it hears of every further try to
// connect that has failed, and of what the user may not do.
func (d *dsn) connect(ctx context.Context, made *atomic.Pointer[link]) (*nats.Conn, error) {
	o := nats.GetDefaultOptions()
	o.Servers, o.Name = d.servers, "semel"
	o.Timeout = dialTimeout
	if deadline, ok := ctx.Deadline(); ok {
		o.Timeout = min(dialTimeout, time.Until(deadline))
	}
	o.MaxReconnect, o.CustomReconnectDelayCB = -1, reconnectDelay
	o.IgnoreAuthErrorAbort = true // a login may be refused for a while, such as by a service that the server asks
	o.ReconnectBufSize = -1       // what cannot be sent now fails now: the caller of a verb repeats it
	o.ReconnectErrCB = func(*nats.Conn, error) {
		if l := made.Load(); l != nil {
			l.change()
		}
	}
	o.AsyncErrorCB = func(_ *nats.Conn, _ *nats.Subscription, err error) {
		if l := made.Load(); l != nil && errors.Is(err, nats.ErrPermissionViolation) {
			l.broken(err)
		}
	}
	for _, set := range append(d.login, d.opts.Connect...) {
		if err := set(&o); err != nil {
			return nil, err
		}
	}
	return o.Connect()
}

// reconnectDelay grows with the tries, and is spread, so that the clients of a server that
// comes back do not come at once.
func reconnectDelay(tries int) time.Duration {
	d := min(firstReconnect<<min(tries, 10), longestReconnect)
	return d/2 + rand.N(d/2) //nolint:gosec // not a secret.
}

// maxOutcome returns the longest outcome that fits a message.
func (s *Store) maxOutcome() int {
	return max(0, int(s.link.nc.MaxPayload())-maxHead-maxHeaders)
}

// maxHeaders bounds the headers of a message.
const maxHeaders = 512

// Close waits for the verbs that were begun and frees what the store holds. Verbs called
// afterwards return [semel.ErrClosed].
func (s *Store) Close() error {
	if !s.gate.Close() {
		return nil
	}
	close(s.closing)
	s.gate.Wait()
	s.link.broken(semel.ErrClosed) // ends a reading of the clock that no verb waits for
	s.clock.readers.Wait()
	close(s.stop)
	s.watching.Wait()
	if s.owned {
		s.link.nc.Close()
	}
	return nil
}
