package redisstore

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/redis/rueidis"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/internal/verb"
)

const (
	// dialTimeout bounds the making of one connection.
	dialTimeout = 5 * time.Second
	// maxRedirects bounds how often one command follows a slot that moves.
	maxRedirects = 16
	// outlive is added to the life of a record to get that of its key, so that the
	// scripts alone decide when a record expires.
	outlive = time.Second
)

var (
	_ semel.Store    = (*Store)(nil)
	_ semel.Lister   = (*Store)(nil)
	_ semel.Notifier = (*Store)(nil)
	_ semel.Monitor  = (*Store)(nil)
)

// Store keeps records in Redis or Valkey. [Open] and [New] are the doors. It
// is safe for concurrent use, and any number of processes may share a server
// and a prefix.
type Store struct {
	client   rueidis.Client
	owned    bool   // Close closes the client
	password string // that no error may repeat
	opts     Options

	fenceKey string
	channel  string
	slack    time.Duration // how much longer a key lives than its record
	scripts  scripts
	draws    *draws // nil unless the server is a cluster
	news     *news
	finished finished
	health   health

	life context.Context //nolint:containedctx // the store's life, ended by Close.
	end  context.CancelFunc

	gate verb.Gate // counts what runs in the background: the client waits for verbs
}

// Open connects to the server that the DSN names and makes the checks of
// [Store.Check]:
//
//	redis://[user:password@]host[:6379][/db][?parameters]
//	rediss://…    the same over TLS
//
//	prefix=shop            begins every key (Options.Prefix)
//	cluster=true           the host is a node of a Redis Cluster
//	addr=host:port         a further node of it, to begin with; may be repeated
//	replicas=1             Options.Replicas
//	replica_timeout=1s     Options.ReplicaTimeout
//	allow_eviction=true    Options.AllowEviction
//
// What the DSN says counts more than the options. No error repeats the
// password. Close the store to free its connections.
func Open(ctx context.Context, dsn string, o *Options) (*Store, error) {
	if o == nil {
		o = &Options{}
	}
	d, err := parseDSN(dsn, *o)
	if err != nil {
		return nil, err
	}
	client, err := d.connect(ctx)
	if err != nil {
		return nil, translate("open", d.password, err)
	}
	s, err := newStore(client, &d.opts) //nolint:contextcheck // what it starts ends by Close.
	if err != nil {
		client.Close()
		return nil, err
	}
	s.owned, s.password = true, d.password
	d.dialled.Store(s)
	err = s.Check(ctx)
	if err == nil && d.cluster && s.draws == nil {
		err = fmt.Errorf("redisstore: open: %s is not a node of a cluster: remove cluster=true from the DSN", d.addrs[0])
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// New returns a store over the caller's client: a single server, a primary
// that sentinels watch, or a cluster. It does not speak to the server; call
// [Store.Check] to learn whether it is fit. The caller closes the client
// after the store. A client that retries must retry reads only, as
// rueidis does. [Store.Health] reports a check once a minute: the
// store does not learn of connections that the client replaces.
func New(client rueidis.Client, o *Options) (*Store, error) {
	opts, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	return newStore(client, &opts)
}

func newStore(client rueidis.Client, o *Options) (*Store, error) {
	s := &Store{
		client:   client,
		opts:     *o,
		fenceKey: o.Prefix + ":fence",
		channel:  o.Prefix + ":settled",
		slack:    outlive,
	}
	s.gate.Name, s.gate.ReadOnly = "redisstore", o.ReadOnly
	s.life, s.end = context.WithCancel(context.Background())
	s.news = &news{store: s, waiting: map[string]map[*waiter]struct{}{}}
	if client.Mode() == rueidis.ClientModeCluster {
		s.draws = &draws{take: s.draw, background: s.start}
		s.slack = forgetLate
	}
	if o.clock != nil {
		s.slack += o.clock.slack
	}
	var err error
	if s.scripts, err = newScripts(s); err != nil || o.ReadOnly {
		return s, err
	}
	s.health.redial = make(chan struct{}, 1)
	return s, s.start(func() { s.watch(o.watchEvery) })
}

// connect opens the client.
func (d *dsn) connect(ctx context.Context) (rueidis.Client, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	option := rueidis.ClientOption{
		InitAddress:       d.addrs,
		Username:          d.user,
		Password:          d.password,
		SelectDB:          d.db,
		ClientName:        "semel",
		ClientSetInfo:     rueidis.DisableClientSetInfo,
		Dialer:            net.Dialer{Timeout: dialTimeout},
		DialCtxFn:         d.dial,
		DisableCache:      true, // a record is read once
		DisableRetry:      true, // the caller of a verb repeats it
		ForceSingleClient: !d.cluster,
		ClusterOption:     rueidis.ClusterOption{MaxMovedRedirections: maxRedirects},
	}
	if deadline, ok := ctx.Deadline(); ok {
		option.Dialer.Timeout = min(dialTimeout, time.Until(deadline))
	}
	if d.tls {
		option.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12}
		if d.opts.TLS != nil {
			option.TLSConfig = d.opts.TLS.Clone()
		}
	}
	client, err := rueidis.NewClient(option)
	if err != nil {
		if client != nil {
			client.Close()
		}
		err = fmt.Errorf("connect to %s: %w", d.addrs[0], err)
		if code(err) == "" { // no server answered
			err = fmt.Errorf("%w (does a Redis server listen there? With TLS it is named rediss://, without it redis://)", err)
		}
		return nil, err
	}
	return client, nil
}

// dial connects as the client would, and tells the store, if there is one yet.
func (d *dsn) dial(ctx context.Context, addr string, dialer *net.Dialer, config *tls.Config) (net.Conn, error) {
	var conn net.Conn
	var err error
	if config != nil {
		conn, err = (&tls.Dialer{NetDialer: dialer, Config: config}).DialContext(ctx, "tcp", addr)
	} else {
		conn, err = dialer.DialContext(ctx, "tcp", addr)
	}
	if s := d.dialled.Load(); s != nil && err == nil {
		s.redialled()
	}
	return conn, err
}

// enter refuses a verb that may not begin.
func (s *Store) enter(ctx context.Context, act string, writes bool) error {
	if err := s.gate.Check(act, writes); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("redisstore: %s: %w", act, err)
	}
	return nil
}

// start runs f in a goroutine for which Close waits.
func (s *Store) start(f func()) error { return s.gate.Go("start", f) }

// Close waits for the verbs that were begun, where the store opened the
// connections itself, and frees what it holds. Verbs called afterwards return
// [semel.ErrClosed].
func (s *Store) Close() error {
	if !s.gate.Close() {
		return nil
	}
	s.end()
	s.gate.Wait()
	if s.owned {
		s.client.Close()
	}
	return nil
}
