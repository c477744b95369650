package natsstore

import (
	"context"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/internal/verb"
)

const (
	// newsWord follows the stream's subject in those on which it says that a record was stored.
	newsWord = "_news."
	// firstLook and longestLook bound the pauses after which Await looks itself: in a
	// cluster the news may begin before the leader's server knows of the subscription.
	firstLook   = 100 * time.Millisecond
	longestLook = 10 * time.Second
	// newsHeld bounds the news that wait to be seen; one is enough.
	newsHeld = 16
)

var _ semel.Notifier = (*Store)(nil)

// news has the stream publish the headers of what it has stored, for Await.
func (s *Store) news() *jetstream.RePublish {
	return &jetstream.RePublish{Source: s.opts.Subject + ".*", Destination: s.opts.Subject + newsWord + "{{wildcard(1)}}", HeadersOnly: true}
}

// newsOf is the subject of the news of an intent.
func (s *Store) newsOf(d *semel.Digest) string {
	return s.opts.Subject + newsWord + hex.EncodeToString(d[:])
}

// Await implements [semel.Notifier]. It also returns nil when the lease ends.
func (s *Store) Await(ctx context.Context, d semel.Digest) error {
	if err := s.enter(ctx, "await", verb.Reads); err != nil {
		return err
	}
	defer s.gate.Leave()
	life := s.link.current()
	heard := make(chan *nats.Msg, newsHeld)
	sub, err := s.link.nc.ChanSubscribe(s.newsOf(&d), heard)
	if err == nil {
		defer func() { _ = sub.Unsubscribe() }() // a connection that broke has none
		err = s.flush(ctx)
	}
	if err != nil {
		return s.translate("await", err)
	}
	for look := firstLook; ; look = min(2*look, longestLook) {
		f, err := s.read(ctx, d)
		if err != nil {
			return s.translate("await", err)
		}
		if verb.Absent(f.rec) || f.rec.State != semel.StateClaimed || f.rec.Lapsed() {
			return nil
		}
		lapse := time.NewTimer(min(f.rec.LeaseLeft(), look))
		select {
		case <-lapse.C:
		case <-heard:
		case <-life.Done():
			err = s.translate("await", errBroken)
		case <-s.closing:
			err = fmt.Errorf("natsstore: await: %w", semel.ErrClosed)
		case <-ctx.Done():
			err = fmt.Errorf("natsstore: await: %w", context.Cause(ctx))
		}
		lapse.Stop()
		if err != nil {
			return err
		}
	}
}

// flush returns when the server knows of a subscription.
func (s *Store) flush(ctx context.Context) error {
	ctx, done := s.link.bound(ctx)
	defer done()
	if err := s.link.nc.FlushWithContext(ctx); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return err
	}
	return nil
}
