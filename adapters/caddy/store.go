package semelcaddy

import (
	"github.com/caddyserver/caddy/v2"

	"github.com/semel-dev/semel"
)

// stores are the open stores by DSN. A reload provisions the new handlers before it ends the old ones, and a log has one owner.
var stores = caddy.NewUsagePool() //nolint:gochecknoglobals // it outlives a config, as Caddy's own pools do.

// shared is a store that several handlers use.
type shared struct{ semel.Store }

// Destruct implements [caddy.Destructor].
func (s shared) Destruct() error { return s.Close() }
