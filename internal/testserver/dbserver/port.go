package dbserver

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
)

const (
	host = "127.0.0.1"

	// Below the ports that systems give to outgoing connections: a server that is down for a while finds its port free.
	firstPort = 15000
	lastPort  = 32000

	portTries = 100
)

// freePort returns a port that no process listens on.
func freePort(ctx context.Context) (int, error) {
	var err error
	for range portTries {
		port := firstPort + rand.N(lastPort-firstPort) //nolint:gosec // it is not a secret
		var l net.Listener
		if l, err = new(net.ListenConfig).Listen(ctx, "tcp", address(port)); err == nil {
			return port, l.Close()
		}
	}
	return 0, fmt.Errorf("find a free port: %w", err)
}

// FreeAddresses returns addresses of this machine on which no process listens, each with another port.
func FreeAddresses(ctx context.Context, n int) ([]string, error) {
	var free []string
	for len(free) < n {
		port, err := freePort(ctx)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(free, address(port)) {
			free = append(free, address(port))
		}
	}
	return free, nil
}

func address(port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }
