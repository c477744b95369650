// Command caddy is a Caddy with a proxy and the module of package semelcaddy, for tests and benchmarks. Build your own with xcaddy.
package main

import (
	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	_ "github.com/caddyserver/caddy/v2/modules/caddyhttp/reverseproxy"

	_ "github.com/semel-dev/semel/adapters/caddy"
)

func main() { caddycmd.Main() }
