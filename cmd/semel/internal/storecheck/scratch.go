package storecheck

import (
	"context"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/cli/openstore"
)

// On returns a target on a scratch part.
func On(s *openstore.Scratch) Target {
	t := Target{Kind: s.Kind(), Open: s.Open, Isolations: s.Isolations(), OpenAt: s.OpenAt, Failover: failovers()[s.Kind()]}
	if s.HasTransactions() {
		t.Business = func(ctx context.Context, store semel.Store) (Business, error) { return s.Business(ctx, store) }
	}
	return t
}

// failovers returns what the promotion of a replica can lose, by the kind of store.
func failovers() map[string]string {
	const sync = "Nothing is lost to a synchronous replica. Another one may lack the last claims and outcomes: intents can be executed twice, except in transaction mode, which loses rows and records together (docs/storage.md)."
	return map[string]string{
		"postgres": sync,
		"mysql":    sync,
		"redis":    "A replica may lack claims and outcomes that were acknowledged: intents can be executed twice. With semel_replicas=N in the DSN, where a master has N replicas, nothing that was acknowledged is lost unless a replica crashes as well (docs/storage.md, \"A failover of Redis\").",
	}
}
