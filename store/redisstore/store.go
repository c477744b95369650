package redisstore

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/semel-dev/semel"
)

const (
	// dialTimeout bounds the making of one connection.
	dialTimeout = 5 * time.Second
	// maxRedirects bounds how often one command follows a slot that moves.
	maxRedirects = 16
	// outlive is how much longer a key lives than its record, so that the
	// scripts alone decide when a record expires.
	outlive = time.Second
)

var (
	_ semel.Store    = (*Store)(nil)
	_ semel.Lister   = (*Store)(nil)
	_ semel.Notifier = (*Store)(nil)
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

	life context.Context //nolint:containedctx // the store's life, ended by Close.
	end  context.CancelFunc

	closed     atomic.Bool
	mu         sync.Mutex // guards that no goroutine starts when closed
	background sync.WaitGroup
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
	s, err := newStore(client, &d.opts)
	if err != nil {
		client.Close()
		return nil, err
	}
	s.owned, s.password = true, d.password
	err = s.Check(ctx)
	if err == nil && d.cluster && s.draws == nil {
		err = fmt.Errorf("redisstore: open: %s is no node of a cluster: remove cluster=true from the DSN", d.addrs[0])
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// New returns a store over the caller's client: a single server, a primary
// that sentinels watch, or a cluster. It does not speak to the server; call
// [Store.Check] to learn whether it is fit. The caller closes the client
// after the store. A client that retries must not retry what is no read, which
// is how rueidis behaves.
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
	s.scripts, err = newScripts(s)
	return s, err
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
		DisableCache:      true, // a record is read once
		DisableRetry:      true, // whoever calls a verb repeats it
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
		if _, answered := rueidis.IsRedisErr(err); !answered {
			err = fmt.Errorf("%w (does a Redis server listen there? With TLS it is named rediss://, without it redis://)", err)
		}
		return nil, err
	}
	return client, nil
}

// what a verb does to the store.
const (
	reads  = false
	writes = true
)

// enter says whether a verb may begin.
func (s *Store) enter(ctx context.Context, act string, write bool) error {
	if s.closed.Load() {
		return fmt.Errorf("redisstore: %s: %w", act, semel.ErrClosed)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("redisstore: %s: %w", act, err)
	}
	if write && s.opts.ReadOnly {
		return fmt.Errorf("redisstore: %s: %w", act, errReadOnly)
	}
	return nil
}

// start runs f in a goroutine for which Close waits.
func (s *Store) start(f func()) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed.Load() {
		return semel.ErrClosed
	}
	s.background.Go(f)
	return nil
}

// Close waits for the verbs that were begun, where the store opened the
// connections itself, and frees what it holds. Verbs called afterwards return
// [semel.ErrClosed].
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed.Swap(true) {
		s.mu.Unlock()
		return nil
	}
	s.mu.Unlock()
	s.end()
	s.background.Wait()
	if s.owned {
		s.client.Close()
	}
	return nil
}
