// Package wrap calls functions of other packages that take SQL.
package wrap

import (
	"context"

	"wrap/inner"
)

func local(ctx context.Context, db inner.DB, q string) {
	inner.Run(ctx, db, "why", q)
}

func calls(ctx context.Context, db inner.DB, r *inner.Repo, id int) {
	inner.Run(ctx, db, "UPDATE t SET n = n + 1", "UPDATE t SET n = 1") // want `^safe`
	inner.Traced(ctx, db, "UPDATE t SET n = n + 1")                    // want `not safe`
	inner.Traced(ctx, db, "DELETE FROM t")                             // want `^safe`
	local(ctx, db, "UPDATE t SET n = n * 2")                           // want `not safe`
	r.Do("UPDATE t SET n = n + 1")                                     // want `not safe`
	_ = inner.List{{"UPDATE t SET n = n + 3"}, {SQL: "DELETE FROM t"}} // want `not safe` `^safe`
	func(q string) {
		inner.Run(ctx, db, "", q) // want `unknown: q`
	}("UPDATE t SET n = n + 1")
}
