// Package operators puts the admin API and the console on a gateway. The three know each other only as handlers.
package operators

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"

	"github.com/semel-dev/semel/console"
	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/gateway/adminapi"
	"github.com/semel-dev/semel/outcomelog/archive"
)

// Options add to the configuration of a gateway.
type Options struct {
	// Tokens let operators in. Without any, the admin API says that it is off, and the console is left out.
	Tokens []adminapi.Token
	// TokensFile is the file that they came from, which is followed, and read at once when Reload is asked. Default: none.
	TokensFile string
	Reload     <-chan struct{}
	// Prometheus is the address of the page that the console links to for the counts of all processes. Default: none.
	Prometheus string
}

// Of returns the [gateway.Config.Operators] of c, which may still change until [gateway.New] has it. The store must be a
// [semel.Lister] where there are tokens.
func Of(c *gateway.Config, o Options) func(gateway.View) (gateway.Operators, error) {
	return func(v gateway.View) (gateway.Operators, error) {
		if o.Prometheus != "" && !console.IsLink(o.Prometheus) {
			return gateway.Operators{}, fmt.Errorf("gateway: Prometheus at %q is not the URL of a page (write it like https://prometheus.example/graph)", o.Prometheus)
		}
		kept, _ := c.OutcomeLog.(*archive.Archive) // only an archive can be searched
		if kept != nil {
			kept.KeepRepeats(v.Repeats)
		}
		api, err := adminapi.New(v.Guard, &adminapi.Options{Tokens: o.Tokens, Logger: c.Logger, Repeats: v.Repeats})
		if err != nil {
			return gateway.Operators{}, fmt.Errorf("gateway: admin tokens: %w", err)
		}
		if len(o.Tokens) == 0 {
			return gateway.Operators{Admin: api}, nil
		}
		warnInTheClear(c)
		history := console.NewHistory(console.CountsOf(v.Metrics))
		pages, err := console.New(v.Guard, console.Options{
			API: api, Logger: c.Logger, History: history, Repeats: v.Repeats, LiveClaims: c.Guard.LiveClaims, Prometheus: o.Prometheus, Done: v.Ended,
			OutcomeLog: kept, Routes: routes(v.Routes), Scripts: console.ScriptCountsOf(v.Metrics), Rules: c.Rules, Settings: settings(v.Settings, &o),
		})
		if err != nil {
			return gateway.Operators{}, err
		}
		run := history.Run
		if o.TokensFile != "" {
			run = func(ctx context.Context) {
				var following sync.WaitGroup
				following.Go(func() { api.Follow(ctx, o.TokensFile, o.Reload) })
				history.Run(ctx)
				following.Wait()
			}
		}
		return gateway.Operators{Admin: api, Console: pages, Run: run}, nil
	}
}

func routes(of []gateway.Route) []console.Route {
	all := make([]console.Route, 0, len(of))
	for _, route := range of {
		all = append(all, console.Route(route))
	}
	return all
}

// settings are those of the gateway, with those of o after its addresses.
func settings(of []gateway.Setting, o *Options) []console.Setting {
	all := make([]console.Setting, 0, len(of)+2)
	for _, setting := range of {
		all = append(all, console.Setting(setting))
	}
	tokens := "set"
	if n := len(o.Tokens); n > 1 {
		tokens = fmt.Sprint(n, " set")
	}
	after := 1 + slices.IndexFunc(all, func(s console.Setting) bool { return s.Name == "Address for operators" })
	return slices.Insert(all, after, console.Setting{Name: "Admin tokens", Value: tokens}, console.Setting{Name: "Page of Prometheus", Value: cmp.Or(o.Prometheus, "not set")})
}

// warnInTheClear says in the log that tokens could be read on their way.
func warnInTheClear(c *gateway.Config) {
	if c.Logger != nil && !onLoopback(c.AdminListen) {
		c.Logger.LogAttrs(context.Background(), slog.LevelWarn,
			"admin tokens can be read on the way: the admin address is not on loopback and has no TLS; put a tunnel or a TLS proxy in front of it",
			slog.String("address", c.AdminListen))
	}
}

// onLoopback reports whether no other machine can reach an address. The default of none is on loopback.
func onLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return address == "" || address == "off" || err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}
