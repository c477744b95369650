// Package proxies runs the gateway behind, and in front of, the reverse proxies
// that people have: nginx, HAProxy, Apache and Caddy. Their configuration is
// that of docs/operations.md.
//
// Every claim about a proxy is tried without Semel first: where it sends a
// request twice on its own, a test shows that the application executes it twice.
package proxies
