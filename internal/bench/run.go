package main

import (
	"fmt"
	"io"

	"github.com/semel-dev/semel/internal/bench/contest"
)

func sections() []contest.Section {
	return []contest.Section{
		{Name: "middleware", Run: benchMiddleware},
		{Name: "sqlite", Run: benchSQLite},
		{Name: "log", Run: benchLog},
		{Name: "gateway", Run: benchGateway},
		{Name: "overload", Run: benchOverload},
		{Name: "scale", Run: benchScale},
		{Name: "stores-postgres", Run: benchPostgres},
		{Name: "flow", Run: benchFlow},
		{Name: "messages", Run: benchMessages},
		{Name: "stores-mysql", Run: benchMySQL},
		{Name: "stores-redis", Run: benchRedis},
	}
}

// say writes to a terminal, which may have gone.
func say(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }

// shut closes what was only measured.
func shut(c io.Closer) { _ = c.Close() }
