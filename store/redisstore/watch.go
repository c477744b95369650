package redisstore

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/semel-dev/semel/store/internal/verb"
)

const (
	// watchEvery limits how long a change of the server's settings can go unnoticed
	// while the connections last.
	watchEvery = time.Minute
	// watchTimeout bounds one check.
	watchTimeout = 10 * time.Second
)

// errUnfit marks what [Store.Check] finds wrong with a server that answered.
var errUnfit = verb.Unfit(errors.New("redisstore: the server breaks a promise"))

// health holds what the last check found. The zero health is a fit server.
type health struct {
	mu     sync.Mutex // guards the fields below
	unfit  error
	risks  []risk // as the last fit check found them
	redial chan struct{}
}

// risk is a setting that the store accepts, and what it can cost.
type risk struct{ addr, text, change string }

// Health implements [semel.Monitor]. The servers are checked as [Store.Check]
// does when a broken connection was replaced, and once a minute.
func (s *Store) Health() error {
	s.health.mu.Lock()
	defer s.health.mu.Unlock()
	return s.health.unfit
}

// watch checks the servers until the store is closed.
func (s *Store) watch(every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-s.life.Done():
			return
		case <-ticker.C:
		case <-s.health.redial:
		}
		ctx, cancel := context.WithTimeout(s.life, watchTimeout)
		risks, err := s.inspect(ctx)
		cancel()
		if err == nil || errors.Is(err, errUnfit) { // otherwise the servers did not answer, and the verbs report that
			s.noteRisks(s.life, risks, err)
		}
	}
}

// redialled has the servers checked soon: they may have been replaced or
// restarted with other settings.
func (s *Store) redialled() {
	select {
	case s.health.redial <- struct{}{}:
	default: // a check is due already
	}
}

// noteRisks keeps what a check found, and logs what has changed since the last one.
func (s *Store) noteRisks(ctx context.Context, risks []risk, unfit error) {
	s.health.mu.Lock()
	defer s.health.mu.Unlock()
	log := s.opts.Logger
	switch before := s.health.unfit; {
	case unfit != nil && (before == nil || before.Error() != unfit.Error()):
		log.LogAttrs(ctx, slog.LevelError, "the server breaks a promise of the store", slog.String("error", unfit.Error()))
	case unfit == nil && before != nil:
		log.LogAttrs(ctx, slog.LevelInfo, "the server keeps the promises of the store again")
	}
	for _, r := range risks {
		if !slices.Contains(s.health.risks, r) {
			log.LogAttrs(ctx, slog.LevelWarn, "the server puts records at risk",
				slog.String("server", r.addr), slog.String("risk", r.text), slog.String("change", r.change))
		}
	}
	s.health.unfit = unfit
	if unfit == nil { // an unfit server ends the check early
		s.health.risks = risks
	}
}

// inspect asks every primary whether records are safe there. The error wraps
// [errUnfit] where a server answered and is not fit.
func (s *Store) inspect(ctx context.Context) (risks []risk, err error) {
	nodes, err := s.primaries(ctx)
	if err != nil {
		return nil, err
	}
	for _, addr := range slices.Sorted(maps.Keys(nodes)) {
		info, err := s.ask(ctx, addr, nodes[addr])
		if err != nil {
			return risks, err
		}
		n := &node{addr: addr, client: nodes[addr], info: info}
		if err := s.checkNode(ctx, n); err != nil {
			return risks, err
		}
		risks = append(risks, n.risks...)
	}
	return risks, nil
}
