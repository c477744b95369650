// Package every has calls with the same verdict in every dialect.
package every

import (
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"gorm/models"
)

func calls(db *gorm.DB, u *models.User, n *models.Note, id int64) {
	db.Create(u)                                                                                                                    // want `^safe: unique-key`
	db.Create(&models.Order{Ref: "a"})                                                                                              // want `not safe: no-unique-key`
	db.Clauses(clause.OnConflict{UpdateAll: true}).Create(n)                                                                        // want `^safe: same-row`
	db.Clauses(clause.OnConflict{DoNothing: true}).Create(&models.Order{Ref: "a"})                                                  // want `not safe: no-unique-key`
	db.Model(&models.Order{}).Where("id = ?", id).Update("n", gorm.Expr("n + ?", id))                                               // want `not safe: relative-value`
	db.Model(&models.Order{}).Where("id = ? AND version = ?", id, 3).Updates(map[string]any{"version": 4, "n": gorm.Expr("n + 1")}) // want `^safe: guarded`
	db.Model(u).Update("name", "x")                                                                                                 // want `safe apart from a timestamp: timestamp`
	db.Delete(u)                                                                                                                    // want `^safe: guarded`
	db.Unscoped().Delete(u)                                                                                                         // want `^safe: deletes`
	db.Save(&models.Note{Ref: "a"})                                                                                                 // want `^safe: `
	db.Model(&models.Reading{}).Where("sensor = ?", "a").Update("value", 1.5)                                                       // want `safe apart from a timestamp: timestamp`
	db.Create(&models.Tag{Name: "a"})                                                                                               // want `not safe: no-unique-key`
	db.Where(models.Order{Ref: "a"}).FirstOrCreate(&models.Order{})                                                                 // want `not safe: check-then-insert`
}

func limited(db *gorm.DB) {
	db.Where("status = ?", "a").Limit(1).Delete(&models.Order{}) // want `^safe: deletes|not safe: moving-selection|not safe: open-order`
}
