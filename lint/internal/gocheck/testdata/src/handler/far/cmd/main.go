// Command cmd is far from its routes.
package main // want `unguarded-handler: POST /orders has no guard, .*: \(\*api\).create \(api/api.go:28\) → \(\*DB\).Create \(store/store.go:11\) → INSERT INTO orders .* \(store/store.go:12\)`

import "handler/far/app"

func main() { _ = app.Run() }
