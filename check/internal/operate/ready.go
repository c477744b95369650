package operate

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/semel-dev/semel/check/wire"
)

// The bounds of waiting for a service.
const (
	readyTimeout = time.Minute
	readyPause   = 50 * time.Millisecond
	probeTimeout = 2 * time.Second
)

// Ready waits until the service answers a HEAD request for the URL with anything but 502, 503 or 504, which proxies
// answer for a service that is down. It gives up after a minute. A nil client means the zero client.
func Ready(client *wire.Client, at string) func(context.Context) error {
	var asking wire.Client
	if client != nil {
		asking = *client
	}
	asking.Timeout = probeTimeout
	return func(ctx context.Context) error {
		to, err := url.Parse(at)
		if err != nil || to.Host == "" {
			return errors.New("the URL of the service cannot be read: write it as http://host:port/")
		}
		within, cancel := context.WithTimeout(ctx, readyTimeout)
		defer cancel()
		tick := time.NewTicker(readyPause)
		defer tick.Stop()
		for {
			answer, err := asking.Do(within, &wire.Request{Method: http.MethodHead, URL: to}, nil)
			if err == nil {
				if !slices.Contains([]int{http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}, answer.Status) {
					return nil
				}
				err = fmt.Errorf("it answers %d %s", answer.Status, http.StatusText(answer.Status))
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-within.Done():
				return fmt.Errorf("the service did not come back within %s: %w", readyTimeout, err)
			case <-tick.C:
			}
		}
	}
}
