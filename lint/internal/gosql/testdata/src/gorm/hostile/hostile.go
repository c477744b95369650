// Package hostile has calls of GORM that look safe and are not, or of which it cannot be told.
package hostile

import (
	"context"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"gorm/models"
)

type repo struct {
	db *gorm.DB
}

type other struct{ *gorm.DB }

func transactions(db *gorm.DB, id int64) {
	db.Transaction(func(tx *gorm.DB) error {
		return tx.Model(&models.Order{}).Where("id = ?", id).Update("n", gorm.Expr("n - 1")).Error // want `not safe: relative-value`
	})
	tx := db.Begin()
	defer tx.Rollback()
	tx.Model(&models.Order{}).Where("id = ?", id).UpdateColumn("n", gorm.Expr("n + 1")) // want `not safe: relative-value`
	tx.Create(&models.Order{Status: "new"})                                             // want `not safe: no-unique-key`
	tx.Commit()
}

func dynamic(db *gorm.DB, column string, values map[string]any, thing any, o models.Order, where map[string]any, conditions []any) {
	db.Model(&models.Order{}).Where("id = 1").Update(column, 5)                            // want `cannot tell: variable-text`
	db.Model(&models.Order{}).Where("id = 1").Updates(values)                              // want `cannot tell: variable-text`
	db.Model(&models.Order{}).Where("id = 1").Updates(thing)                               // want `cannot tell: variable-text`
	db.Model(&models.Order{}).Where("id = 1").Update("n", thing)                           // want `cannot tell: variable-text`
	db.Model(&models.Order{}).Where("id = 1").Updates(map[string]any{column: 1})           // want `cannot tell: variable-text`
	db.Model(&models.Order{}).Where(column).Update("n", 5)                                 // want `cannot tell: variable-text`
	db.Model(&models.Order{}).Where(where).Update("n", 5)                                  // want `cannot tell: variable-text`
	db.Model(&models.Order{}).Where("id = ?", conditions...).Update("n", 5)                // want `cannot tell: variable-text`
	db.Model(&models.Order{}).Where("n < ?", db.Model(&o).Select("avg(n)")).Update("n", 0) // want `cannot tell`
	db.Model(thing).Where("id = 1").Update("n", 5)                                         // want `cannot tell`
	db.Table(column).Where("id = 1").Update("n", 5)                                        // want `cannot tell`
	db.Create(thing)                                                                       // want `cannot tell`
	db.Create(&models.Moved{ID: 1})                                                        // want `cannot tell: variable-text .*TableName of Moved`
	db.Model(&models.Order{}).Where("id = 1").Update("n", gorm.Expr(column))               // want `cannot tell: variable-text`
	db.Model(&models.Order{}).Update("n", 5)                                               // want `cannot tell: variable-text .*without which GORM does nothing`
	db.Model(&models.Order{}).Where("id = 1 -- ?", 5).Or(column).Update("n", 5)            // want `cannot tell: variable-text`
}

func maps(db *gorm.DB, paid bool, id int64) {
	set := map[string]any{"n": gorm.Expr("n - 1")}
	if paid {
		set["status"] = "paid"
	}
	db.Model(&models.Order{}).Where("id = ? AND status = ?", id, "new").Updates(set) // want `not safe: relative-value`
	fixed := map[string]any{"n": 5}
	fixed["status"] = "paid"
	db.Model(&models.Order{}).Where("id = ?", id).Updates(fixed) // want `^safe: plain-values`
	fixed["n"] = gorm.Expr("n + 1")
	db.Model(&models.Order{}).Where("id = ?", id).Updates(fixed) // want `not safe: relative-value`
	passed := map[string]any{"n": 5}
	fill(passed)
	db.Model(&models.Order{}).Where("id = ?", id).Updates(passed) // want `cannot tell: variable-text`
	e := gorm.Expr("n + 1")
	db.Model(&models.Order{}).Where("id = ?", id).Update("n", e) // want `not safe: relative-value`
}

func fill(m map[string]any) { m["n"] = gorm.Expr("n + 1") }

func sessions(ctx context.Context, db *gorm.DB, id int64, u *models.User) {
	db.Session(&gorm.Session{SkipHooks: true}).Create(&models.Hooked{ID: id})                  // want `^safe: unique-key`
	db.Session(&gorm.Session{AllowGlobalUpdate: true}).Model(&models.Order{}).Update("n", 5)   // want `^safe: plain-values`
	db.Session(&gorm.Session{FullSaveAssociations: true}).Updates(&models.Order{ID: id, N: 5}) // want `cannot tell: variable-text`
	db.Session(&gorm.Session{DryRun: true}).Create(&models.Order{})
	db.Set("gorm:insert_option", "x").Create(&models.Order{ID: id}) // want `cannot tell: variable-text`
	db.Set("tenant", "x").Create(&models.Order{ID: id})             // want `^safe: unique-key`
	q := db.Where("id = ?", id)
	if id > 5 {
		q = q.Where("version = ?", 3)
	}
	q.Model(&models.Order{}).Updates(map[string]any{"version": 4, "n": gorm.Expr("n + 1")}) // want `cannot tell: variable-text .*added sometimes`
	shared := db.Where("id = ?", id)
	shared.Delete(&models.Order{})               // want `cannot tell: variable-text .*their conditions add up`
	shared.Model(&models.Order{}).Update("n", 5) // want `cannot tell: variable-text .*their conditions add up`
	again := db.Where("version = 3").Session(&gorm.Session{})
	again.Model(&models.Order{}).Updates(map[string]any{"version": 4, "n": gorm.Expr("n + 1")}) // want `^safe: guarded`
	again.Where("id = 1").Delete(&models.Order{})                                               // want `^safe: deletes`
	other{db}.Where("id = 1").Delete(&models.Order{})                                           // want `^safe: deletes`
}

func (r *repo) scoped(ctx context.Context) *gorm.DB {
	return r.db.WithContext(ctx).Where("version = ?", 3)
}

func adding(db *gorm.DB) *gorm.DB {
	if time.Now().Hour() > 12 {
		return db.Where("id < 5")
	}
	return db
}

func old(db *gorm.DB) *gorm.DB { return db.Where("version = ?", 3) }

func (r *repo) scopes(ctx context.Context, given func(*gorm.DB) *gorm.DB) {
	set := map[string]any{"version": 4, "n": gorm.Expr("n + 1")}
	r.scoped(ctx).Model(&models.Order{}).Updates(set)                                                              // want `^safe: guarded`
	r.db.Scopes(old).Model(&models.Order{}).Updates(set)                                                           // want `^safe: guarded`
	r.db.Scopes(func(db *gorm.DB) *gorm.DB { return db.Where("version = 3") }).Model(&models.Order{}).Updates(set) // want `^safe: guarded`
	r.db.Scopes(given).Model(&models.Order{}).Where("version = 3").Updates(set)                                    // want `cannot tell: variable-text`
	r.db.Scopes(adding).Model(&models.Order{}).Where("id = 1").Update("n", 5)                                      // want `cannot tell: variable-text`
	adding(r.db).Model(&models.Order{}).Where("id = 1").Update("n", 5)                                             // want `cannot tell: variable-text`
	old(r.db).Model(&models.Order{}).Updates(set)                                                                  // want `^safe: guarded`
}

func hooks(db *gorm.DB, h *models.Hooked, id int64) {
	db.Create(h)                                                              // want `cannot tell: opaque .*BeforeCreate of Hooked`
	db.Create(&models.Hooked{ID: id})                                         // want `cannot tell: opaque .*BeforeCreate of Hooked`
	db.Model(&models.Hooked{ID: id}).Update("name", "x")                      // want `cannot tell: opaque .*AfterUpdate of Hooked`
	db.Model(&models.Hooked{ID: id}).Update("name", gorm.Expr("name || 'x'")) // want `not safe: relative-value`
	db.Model(&models.Hooked{ID: id}).UpdateColumn("name", "x")                // want `^safe: plain-values`
	db.Delete(h)                                                              // want `^safe: deletes`
}

func linked(db *gorm.DB, c *models.Cart, items []models.Item, id int64) {
	db.Create(c)                                        // want `cannot tell: opaque .*rows of Items`
	db.Create(&models.Cart{Owner: "x", Items: items})   // want `cannot tell: opaque .*rows of Items`
	db.Create(&models.Cart{Owner: "x"})                 // want `^safe: unique-key`
	db.Omit(clause.Associations).Create(c)              // want `^safe: unique-key`
	db.Omit("Items").Create(c)                          // want `^safe: unique-key`
	db.Model(c).Update("owner", "y")                    // want `cannot tell: opaque .*rows of Items`
	db.Model(&models.Cart{ID: id}).Update("owner", "y") // want `^safe: plain-values`
	db.Model(c).Association("Items").Append(&items)     // want `cannot tell`
	db.Model(c).Association("Items").Replace(&items)    // want `cannot tell`
	db.Model(c).Association("Items").Clear()            // want `cannot tell`
	db.Model(c).Association("Items").Count()
	db.Select("Items").Delete(&models.Cart{ID: id}) // want `cannot tell: opaque`
	var loaded models.Cart
	db.First(&loaded, id)                  // want `^safe: reads-only`
	db.Model(&loaded).Update("owner", "y") // want `^safe: plain-values`
	var full models.Cart
	db.Preload("Items").First(&full, id) // want `^safe: reads-only`
	db.Model(&full).Update("owner", "y") // want `cannot tell: opaque .*rows of Items`
	full.Items = append(full.Items, models.Item{})
}

func keys(db *gorm.DB, id int64, many []models.Order) {
	o := models.Order{Status: "new"}
	if id > 5 {
		o.ID = id
	}
	db.Create(&o) // want `not safe: no-unique-key`
	db.Save(&o)   // want `^safe: `
	for range 3 {
		db.Create(&models.Order{}) // want `not safe: no-unique-key`
	}
	p := models.Order{}
	p.ID = id
	db.Create(&p) // want `^safe: unique-key`
	q := models.Order{}
	db.Create(&q) // want `not safe: no-unique-key`
	q.ID = id
	r := models.Order{}
	change(&r)
	db.Save(&r)   // want `cannot tell: variable-text`
	db.Save(many) // want `cannot tell: variable-text`
	var zero int64
	db.Create(&models.Order{ID: 0})    // want `not safe: no-unique-key`
	db.Create(&models.Order{ID: zero}) // want `^safe: unique-key`
}

func change(o *models.Order) { o.ID = 0 }

func conflicts(db *gorm.DB, n *models.Note, conflict clause.OnConflict, columns []string) {
	db.Clauses(conflict).Create(n)                                                                                                                                                      // want `cannot tell: variable-text`
	db.Clauses(clause.OnConflict{DoUpdates: clause.AssignmentColumns(columns), Columns: []clause.Column{{Name: "ref"}}}).Create(n)                                                      // want `cannot tell: variable-text`
	db.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "ref"}}, DoUpdates: clause.Assignments(map[string]any{"seen_at": gorm.Expr("now()")})}).Create(&models.Note{Ref: "a"}) // want `not safe: different-values`
	db.Clauses(clause.From{}).Where("id = 1").Delete(&models.Order{})                                                                                                                   // want `cannot tell: variable-text`
	db.Clauses(clause.Insert{Modifier: "OR IGNORE"}).Create(n)                                                                                                                          // want `cannot tell`
}

func joined(db *gorm.DB) {
	db.Joins("JOIN items ON true").Model(&models.Order{}).Where("id = 1").Update("n", 5)       // want `cannot tell: variable-text`
	db.Model(&models.Order{}).Order("id").Limit(1).Where("status = 'a'").Update("status", "b") // want `^safe: guarded`
}

func answered(db *gorm.DB, id int64) {
	//semel:safe the caller holds a claim
	db.Model(&models.Order{}).Where("id = ?", id).Update("n", gorm.Expr("n - 1")) // want `not safe: relative-value .*answered: the caller holds a claim`
	db.                                                                           // want `not safe: relative-value .*answered: the line of the last call`
											Model(&models.Order{}).
											Where("id = ?", id).
											Update("n", gorm.Expr("n - 1")) //semel:safe the line of the last call
	//semel:safe
	db.Create(&models.Order{}) // want `not safe: answer-without-reason`
	//semel:safe it is
	db.Delete(&models.Order{}, id) // want `safe: answer-not-needed`
}
