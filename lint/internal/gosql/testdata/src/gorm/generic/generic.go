// Package generic uses the generic form of GORM.
package generic

import (
	"context"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"gorm/models"
)

func calls(ctx context.Context, db *gorm.DB, id int64, n *models.Note, o models.Order) {
	gorm.G[models.Order](db).Where("id = ?", id).Update(ctx, "status", "paid")              // want `^safe: plain-values`
	gorm.G[models.Order](db).Where("id = ?", id).Update(ctx, "n", gorm.Expr("n - ?", 1))    // want `not safe: relative-value`
	gorm.G[models.Order](db).Where("id = ?", id).Updates(ctx, models.Order{Status: "paid"}) // want `^safe: plain-values`
	gorm.G[models.Order](db).Create(ctx, &o)                                                // want `not safe: no-unique-key`
	gorm.G[models.Note](db).Create(ctx, n)                                                  // want `^safe: unique-key`
	gorm.G[models.Note](db, clause.OnConflict{UpdateAll: true}).Create(ctx, n)              // want `^safe: same-row`
	gorm.G[models.User](db).Where("id = ?", id).Delete(ctx)                                 // want `^safe: guarded`
	gorm.G[models.Order](db).Where("id = ?", id).First(ctx)                                 // want `^safe: reads-only`
	gorm.G[models.Order](db).Where("id = 1").Set(clause.Assignment{}).Update(ctx)           // want `cannot tell`
	gorm.G[models.Order](db).Exec(ctx, "UPDATE orders SET n = n + 1")                       // want `not safe: relative-value`
	q := gorm.G[models.Order](db).Where("version = ?", 3)
	q.Update(ctx, "n", 5) // want `^safe: plain-values`
	given(ctx, gorm.G[models.Order](db))
}

func given(ctx context.Context, q gorm.Interface[models.Order]) {
	q.Where("id = 1").Update(ctx, "n", 5) // want `cannot tell: variable-text`
}

// Repo writes any model.
type Repo[T any] struct{ db *gorm.DB }

func (r *Repo[T]) Add(row *T) { r.db.Create(row) } // want `cannot tell`

func (r *Repo[T]) Change(ctx context.Context) { gorm.G[T](r.db).Where("id = 1").Update(ctx, "n", 5) } // want `cannot tell`
