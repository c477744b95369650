// Package semel has the shape of the guard.
package semel

import "context"

type Guard struct{}

type Key struct{}

func Do[T any](ctx context.Context, g *Guard, k Key, fn func(context.Context) (T, error)) (T, error) {
	return fn(ctx)
}
