// Package calls has statements that GORM writes.
package calls

import (
	"context"
	"database/sql"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"gorm/models"
)

func create(db *gorm.DB, u *models.User, o *models.Order, n *models.Note, list []models.User, ref string) {
	db.Create(u)                                                                  // want `^safe: unique-key`
	db.Create(o)                                                                  // want `not safe: no-unique-key`
	db.Create(n)                                                                  // want `^safe: unique-key`
	db.Create(&models.Order{Ref: ref, Status: "new"})                             // want `not safe: no-unique-key`
	db.Create(&models.Order{ID: o.ID, Ref: ref})                                  // want `^safe: unique-key`
	db.Create(&list)                                                              // want `^safe: unique-key`
	db.CreateInBatches(list, 100)                                                 // want `^safe: unique-key`
	db.CreateInBatches([]*models.Order{{Status: "a"}, {Status: "b"}}, 100)        // want `not safe: no-unique-key`
	db.Create(&[]models.Order{{ID: 1}, {Status: "b"}})                            // want `not safe: no-unique-key`
	db.Create(&models.Tag{Name: ref})                                             // want `not safe: no-unique-key`
	db.Create(&models.Tag{ID: ref, Name: ref})                                    // want `^safe: unique-key`
	db.Create(&models.Reading{Sensor: ref, At: time.Now().Unix()})                // want `^safe: unique-key`
	db.Omit("Email").Create(u)                                                    // want `not safe: no-unique-key`
	db.Select("Name").Create(u)                                                   // want `not safe: no-unique-key`
	db.Model(&models.Order{}).Create(map[string]any{"Ref": ref, "status": "new"}) // want `not safe: no-unique-key`
	db.Table("shop_notes").Create(n)                                              // want `^safe: unique-key`
	db.Clauses(clause.Returning{}).Create(&models.Note{Ref: ref})                 // want `^safe: unique-key`
}

func upsert(db *gorm.DB, u *models.User, o models.Order, n *models.Note) {
	db.Clauses(clause.OnConflict{DoNothing: true}).Create(u)  // want `^safe: unique-key`
	db.Clauses(clause.OnConflict{DoNothing: true}).Create(&o) // want `not safe: no-unique-key`
	db.Clauses(clause.OnConflict{UpdateAll: true}).Create(n)  // want `^safe: same-row`
	db.Clauses(clause.OnConflict{                             // want `^safe: same-row`
		Columns:   []clause.Column{{Name: "email"}},
		DoUpdates: clause.AssignmentColumns([]string{"name", "level"}),
	}).Create(u)
	db.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "ref"}}, DoUpdates: clause.Assignments(map[string]any{"n": gorm.Expr("shop_notes.n + 1")})}).Create(n)              // want `not safe`
	db.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "ref"}}, DoUpdates: clause.Set{{Column: clause.Column{Name: "n"}, Value: 7}}}).Create(&models.Note{Ref: "a", N: 5}) // want `not safe: different-values`
	db.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "sensor"}, {Name: "at"}}, UpdateAll: true}).Create(&models.Reading{Sensor: "a", At: 1})                             // want `timestamp: timestamp`
}

func update(ctx context.Context, db *gorm.DB, u *models.User, o models.Order, id int64, status string) {
	db.Model(&models.Order{}).Where("id = ?", id).Update("status", "paid")                                                                                             // want `^safe: plain-values`
	db.Model(&models.Order{}).Where("id = ?", id).Update("n", gorm.Expr("n - ?", 1))                                                                                   // want `not safe: relative-value`
	db.Model(&models.Order{}).Where("id = ? AND status = ?", id, "new").Updates(map[string]any{"status": "paid", "n": gorm.Expr("n - 1")})                             // want `^safe: guarded`
	db.Model(&models.Order{}).Where("id = ? AND version = ?", id, o.Version).Updates(map[string]any{"version": gorm.Expr("version + 1"), "n": gorm.Expr("n + ?", id)}) // want `^safe: guarded`
	db.Model(&models.Order{ID: id}).Updates(models.Order{Status: status, N: 5})                                                                                        // want `^safe: plain-values`
	db.Model(&o).Updates(&o)                                                                                                                                           // want `^safe: plain-values`
	db.WithContext(ctx).Model(u).Update("name", status)                                                                                                                // want `safe apart from a timestamp: timestamp`
	db.Model(u).UpdateColumn("name", status)                                                                                                                           // want `^safe: plain-values`
	db.Model(u).UpdateColumns(models.User{Name: status})                                                                                                               // want `^safe: plain-values`
	db.Model(&models.Order{}).Where("status = ?", "new").Or("status = ?", "open").Update("status", "paid")                                                             // want `^safe: plain-values`
	db.Model(&models.Order{}).Where(&models.Order{Ref: status}).Update("N", gorm.Expr("n + 1"))                                                                        // want `not safe: relative-value`
	db.Model(&models.Order{}).Where(map[string]any{"ref": status, "status": []string{"a", "b"}}).Update("n", 5)                                                        // want `^safe: plain-values`
	db.Model(&models.Order{}).Where("id IN ?", []int64{1, 2}).Update("n", 5)                                                                                           // want `^safe: plain-values`
	db.Model(&models.Order{}).Where(clause.Eq{Column: "version", Value: 3}).Updates(map[string]any{"version": 4, "n": gorm.Expr("n + 1")})                             // want `^safe: guarded`
	db.Table("orders").Where("id = ?", id).Updates(map[string]any{"n": clause.Expr{SQL: "n * ?", Vars: []any{2}}})                                                     // want `not safe: relative-value`
	db.Model(&models.Order{}).Where("n < (SELECT avg(n) FROM orders)").Update("n", 0)                                                                                  // want `not safe: moving-selection|cannot tell`
	db.Model(&models.Order{}).Where("id = @id AND status = @old", sql.Named("id", id), sql.Named("old", "new")).Update("status", status)                               // want `^safe: plain-values`
	db.Select("status").Updates(&o)                                                                                                                                    // want `^safe: plain-values`
	db.Model(&models.Reading{}).Where("sensor = ?", status).Update("value", 1.5)                                                                                       // want `safe apart from a timestamp: timestamp`
}

func save(db *gorm.DB, u models.User, o *models.Order, id int64) {
	db.Save(o)                                    // want `cannot tell: variable-text .*whether the key of Order is set`
	db.Save(&models.Order{Status: "new"})         // want `not safe: no-unique-key`
	db.Save(&models.Order{ID: id, Status: "new"}) // want `^safe: `
	db.Save(&models.Note{Ref: "a", N: 1})         // want `^safe: `
	var loaded models.Order
	if err := db.First(&loaded, id).Error; err != nil { // want `^safe: reads-only`
		return
	}
	loaded.Status = "paid"
	db.Save(&loaded) // want `^safe: `
	loaded.ID = 0
	db.Save(&loaded)                      // want `not safe: no-unique-key`
	db.Save(&[]models.Order{{ID: 1}, {}}) // want `cannot tell: variable-text`
}

func remove(db *gorm.DB, u *models.User, id int64, ids []int64) {
	db.Delete(&models.Order{}, id)                                                // want `^safe: deletes`
	db.Delete(&models.Order{}, ids)                                               // want `^safe: deletes`
	db.Delete(&models.Order{}, "status = ?", "old")                               // want `^safe: deletes`
	db.Where("id = ?", id).Delete(&models.Order{})                                // want `^safe: deletes`
	db.Delete(u)                                                                  // want `^safe: guarded`
	db.Unscoped().Delete(u)                                                       // want `^safe: deletes`
	db.Unscoped().Where("level = ? OR name = ?", "a", "b").Delete(&models.User{}) // want `^safe: deletes`
	db.Where("n < (SELECT avg(n) FROM orders)").Delete(&models.Order{})           // want `not safe|cannot tell`
}

func find(db *gorm.DB, ref string) {
	var o models.Order
	db.Where(models.Order{Ref: ref}).FirstOrCreate(&o) // want `not safe: check-then-insert`
	var u models.User
	db.FirstOrCreate(&u, models.User{Email: ref})                                                                 // want `^safe: unique-key`
	db.Where(models.User{Email: ref}).Attrs(models.User{Name: "x"}).FirstOrCreate(&models.User{})                 // want `^safe: unique-key`
	db.Where(models.User{Email: ref}).Assign(models.User{Name: "x"}).FirstOrCreate(&models.User{})                // want `safe apart from a timestamp: timestamp`
	db.Where(models.Note{Ref: ref}).Assign(map[string]any{"n": gorm.Expr("n + 1")}).FirstOrCreate(&models.Note{}) // want `not safe: relative-value|cannot tell`
	db.FirstOrInit(&u, models.User{Email: ref})                                                                   // want `^safe: reads-only`
	db.Select("name").Where("id = ?", 1).Find(&u)                                                                 // want `^safe: reads-only`
	db.Raw("UPDATE orders SET n = n + 1").Scan(&o)                                                                // want `not safe: relative-value`
	db.Exec("UPDATE orders SET n = n + 1")                                                                        // want `not safe: relative-value`
}
