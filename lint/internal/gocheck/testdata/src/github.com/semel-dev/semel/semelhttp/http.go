// Package semelhttp has the shape of the door and the transport.
package semelhttp

import (
	"context"
	"net/http"
)

type Middleware struct{}

func (m *Middleware) Handler(next http.Handler) http.Handler { return next }

type Transport struct{ Base http.RoundTripper }

func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) { return nil, nil }

func NewIntent(ctx context.Context) context.Context { return ctx }
