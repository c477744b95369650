// Command soak keeps gateways busy at half of the rate that they can serve, for
// an hour or another time, while callers vanish, the application dies,
// the store's server crashes and keys and secrets are rotated. It fails when an intent takes
// effect twice, when two callers of one intent hear different answers, or when
// what a gateway holds grows: memory, goroutines, descriptors, and the store's files.
//
//	callers ──▶ gateway ──▶ application (in this process; counts effects)
//	   │        gateway ──▶ store (a server of its own, or files)
//	 vanish     restarted by   ▲ dies and comes back
//	 at times   a rotation     ╵ crashes and comes back
//
// Half of the processor is left for the machine's other work: the rate is
// measured first. Samples go to a CSV file, and their chart to an SVG file next to it.
package main

import (
	"context"
	"os"
	"os/signal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}
