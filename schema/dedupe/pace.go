package dedupe

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"math"
	"time"
)

// Pace leaves room for others between the batches of [Database.Run] and [Database.Undo]. The zero value leaves none.
type Pace struct {
	// Rest is the pause after each batch.
	Rest time.Duration
	// MaxLag, when set, holds the next batch back while a replica is further behind.
	MaxLag time.Duration
	// LagQuery, when set, returns the seconds that replicas are behind, where the server does not know them.
	LagQuery string
}

const (
	// A batch merges firstBatch losers, more only for the sake of a group, and the next ones as many as take batchTime: others
	// may wait that long for a row. As many groups are taken back at once.
	firstBatch, leastBatch, mostBatch = 250, 10, 1000

	batchTime = 150 * time.Millisecond
	// firstLook and lastLook bound how long a batch that is held back waits until it looks at the replicas again.
	firstLook = 50 * time.Millisecond
	lastLook  = time.Second
)

// replica is a server that follows this one. It is behind by an unknown time where known is false.
type replica struct {
	name   string
	behind time.Duration
	known  bool
}

// pacer keeps the batches of one call apart.
type pacer struct {
	*dbSession
	Pace

	// replicas are as many as there were at once: one that is gone is behind.
	replicas int
	begun    bool
	// size is that of the next batch; 0 before the first one.
	size int
}

// most bounds the losers of the next batch.
func (p *pacer) most() int { return cmp.Or(p.size, firstBatch) }

// during calls work, which is a batch, and fits the size of the next one to the time that it took.
func (p *pacer) during(work func() error) error {
	from := time.Now()
	err := work()
	p.size = nextSize(p.most(), time.Since(from))
	return err
}

// nextSize is the size of the batch after one that took so long.
func nextSize(size int, took time.Duration) int {
	fits := float64(size) * float64(batchTime) / float64(max(took, time.Microsecond))
	return int(max(leastBatch, min(fits, float64(2*size), mostBatch)))
}

// start refuses a pace for which the database does not know enough.
func (p *pacer) start(ctx context.Context) error {
	if p.MaxLag == 0 || p.LagQuery != "" {
		return nil
	}
	why, err := p.blind(ctx, p.dbSession)
	if err != nil {
		return err
	}
	if why != "" {
		return refuse("%s", why)
	}
	all, err := p.lags(ctx)
	p.replicas = len(all)
	if err == nil && len(all) == 0 {
		err = refuse("no replica is connected to this server, so none can be behind (connect to the primary, or give a --lag-query)")
	}
	return err
}

// wait holds a batch back: for a rest after the one before, and until replicas follow. It calls say with the reason, and with ""
// when it is over.
func (p *pacer) wait(ctx context.Context, say func(why string)) error {
	if p.begun && p.Rest > 0 {
		say("rests for " + p.Rest.String())
		if err := pause(ctx, p.Rest); err != nil {
			return err
		}
	}
	p.begun = true
	for look := firstLook; p.MaxLag > 0; look = min(2*look, lastLook) {
		why, err := p.held(ctx)
		if err != nil {
			return err
		}
		if why == "" {
			break
		}
		say(why)
		if err := pause(ctx, look); err != nil {
			return err
		}
	}
	say("")
	return ctx.Err()
}

// held says which replica keeps a batch from running, or "".
func (p *pacer) held(ctx context.Context) (string, error) {
	all, err := p.lags(ctx)
	if err != nil {
		return "", err
	}
	if len(all) < p.replicas {
		return fmt.Sprintf("waits: %d of %d replicas are connected", len(all), p.replicas), nil
	}
	p.replicas = len(all)
	for _, one := range all {
		if !one.known {
			return "waits until it is known how far " + one.name + " is behind", nil
		}
		if one.behind > p.MaxLag {
			return fmt.Sprintf("waits for %s, which is %s behind", one.name, one.behind.Round(time.Millisecond)), nil
		}
	}
	return "", nil
}

// lags are the replicas; for the operator's query, its rows.
func (p *pacer) lags(ctx context.Context) (all []replica, err error) {
	if p.LagQuery == "" {
		err = p.each(ctx, p.followers(), nil, func(rows *sql.Rows) error {
			var name string
			var seconds sql.NullFloat64
			err := rows.Scan(&name, &seconds)
			all = append(all, replicaOf(name, seconds))
			return err
		})
		return all, err
	}
	err = p.each(ctx, p.LagQuery, nil, func(rows *sql.Rows) error {
		var seconds sql.NullFloat64
		err := rows.Scan(&seconds)
		all = append(all, replicaOf(unnamed, seconds))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("ask how far replicas are behind: %w", p.written(err))
	}
	if len(all) == 0 {
		all = []replica{{name: unnamed}}
	}
	return all, nil
}

// unnamed is the name of each row of the operator's query.
const unnamed = "a replica"

// replicaOf takes seconds that no duration holds for unknown.
func replicaOf(name string, seconds sql.NullFloat64) replica {
	known := seconds.Valid && seconds.Float64 < time.Duration(math.MaxInt64).Seconds()
	return replica{name: name, known: known, behind: time.Duration(seconds.Float64 * float64(time.Second))}
}
