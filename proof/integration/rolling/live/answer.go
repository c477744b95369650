package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// answer holds a gateway's reply.
type answer struct {
	from   string
	status int
	word   string // Idempotency-Status
	text   string // headers that are replayed, and the body
	err    error
}

func send(ctx context.Context, g *gateway, path, key string) answer {
	a := answer{from: g.name}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, g.url+path, strings.NewReader("amount=1250"))
	if err != nil {
		a.err = err
		return a
	}
	r.Host = "shop.test" // the scope of both, whatever their ports
	r.Header["idempotency-key"] = []string{key}
	res, err := g.client.Do(r)
	if err != nil {
		a.err = err
		return a
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	a.status, a.word, a.err = res.StatusCode, res.Header.Get("Idempotency-Status"), err
	if len(body) > 4<<10 {
		body = fmt.Appendf(nil, "%d bytes", len(body))
	}
	a.text = fmt.Sprint(res.Header["X-Key"], res.Header["X-Several"], res.Header["Content-Type"], " ", string(body))
	return a
}
