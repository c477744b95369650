package natsstore

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/listing"
	"github.com/semel-dev/semel/store/internal/verb"
)

const (
	// listAtOnce and listBytes limit the messages that one request brings: they wait in
	// memory until they are read.
	listAtOnce = 256
	listBytes  = 4 << 20
)

var _ semel.Lister = (*Store)(nil)

// List implements [semel.Lister]. The stream has the order in which records changed
// last, not that of their claims: List goes through it from the oldest change on, and
// returns the newest claims of what it looked at. In a cluster a follower may answer,
// which can be a moment behind.
func (s *Store) List(ctx context.Context, p semel.ListParams) (semel.ListPage, error) {
	if err := p.Validate(); err != nil {
		return semel.ListPage{}, err
	}
	begin, err := listing.ParsePart(p.After)
	if err != nil {
		return semel.ListPage{}, err
	}
	if err := s.enter(ctx, "list", verb.Reads); err != nil {
		return semel.ListPage{}, err
	}
	defer s.gate.Leave()
	now, err := s.clock.join().wait(ctx)
	if err != nil {
		return semel.ListPage{}, s.translate("list", err)
	}
	l := &lister{store: s, now: now, top: &listing.Newest{Params: &p, Before: begin.Before}}
	at := begin.At[0]
	for left := p.Examine; left > 0; {
		n := min(left, listAtOnce)
		next, more, err := l.part(ctx, at, n)
		if err != nil {
			return semel.ListPage{}, s.translate("list", err)
		}
		if !more {
			return l.top.Page(begin, nil), nil
		}
		at, left = next, left-l.looked
	}
	return l.top.Page(begin, &listing.Part{At: [2]uint64{at}}), nil
}

// lister is one List.
type lister struct {
	store  *Store
	now    int64
	top    *listing.Newest
	looked int // by the last part
}

// part looks at up to n messages from a sequence on. more is false when they were the
// last ones.
func (l *lister) part(ctx context.Context, from uint64, n int) (next uint64, more bool, err error) {
	link := l.store.link
	ctx, done := link.bound(ctx)
	defer done()
	inbox := link.nc.NewInbox()
	sub, err := link.nc.SubscribeSync(inbox)
	if err != nil {
		return 0, false, err
	}
	defer func() { _ = sub.Unsubscribe() }() // a connection that broke has none
	body := fmt.Appendf(nil, `{"seq":%d,"batch":%d,"max_bytes":%d}`, max(from, 1), n, listBytes)
	if err := link.nc.PublishRequest(link.api+"DIRECT.GET."+l.store.opts.Stream, inbox, body); err != nil {
		return 0, false, err
	}
	for l.looked = 0; ; l.looked++ {
		m, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return 0, false, err
		}
		switch status := m.Header.Get("Status"); status {
		case "":
			if next, err = l.look(m); err != nil {
				return 0, false, err
			}
		case "204": // the end of what was asked for
			return next, m.Header.Get("Nats-Num-Pending") != "0", nil
		case "404": // there is nothing from there on
			return 0, false, nil
		case "503":
			return 0, false, nats.ErrNoResponders
		default:
			return 0, false, fmt.Errorf("the server answered status %.10q", status)
		}
	}
}

// look takes a message into account, and returns the sequence after it.
func (l *lister) look(m *nats.Msg) (next uint64, err error) {
	sequence, err := strconv.ParseUint(m.Header.Get("Nats-Sequence"), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read the sequence of a message: %w", err)
	}
	d, err := semel.ParseDigest(strings.TrimPrefix(m.Header.Get("Nats-Subject"), l.store.opts.Subject+"."))
	if err != nil { // another program's
		l.top.Look(0)
		return sequence + 1, nil //nolint:nilerr // it is not a record.
	}
	rec, err := readRecord(d, sequence, m.Data)
	f := found{rec: &rec, now: l.now}
	f.date()
	l.top.Look(rec.Fence)
	if err == nil && !verb.Absent(&rec) && l.top.Wants(rec.Fence, rec.Scope, rec.Name, rec.State) {
		if !l.top.Params.Outcomes {
			rec.Outcome = nil
		}
		l.top.Add(rec)
	}
	return sequence + 1, nil
}
