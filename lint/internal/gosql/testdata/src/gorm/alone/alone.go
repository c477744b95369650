// Package alone has calls on tables that only the models define.
package alone

import (
	"gorm.io/gorm"

	"gorm/models"
)

type Link struct {
	A int64 `gorm:"uniqueIndex:pair"`
	B int64 `gorm:"uniqueIndex:pair"`
}

type Half struct {
	A int64 `gorm:"uniqueIndex:pair,where:b > 0"`
	B int64 `gorm:"index:pair"`
}

type Joined struct {
	A int64  `gorm:"uniqueIndex:both"`
	B *int64 `gorm:"index:both"`
}

func calls(db *gorm.DB, u *models.User, id int64) {
	db.Create(u)                                                                     // want `^safe: unique-key`
	db.Create(&models.Order{Ref: "a"})                                               // want `not safe: no-unique-key`
	db.Create(&models.Note{Ref: "a"})                                                // want `^safe: unique-key`
	db.Create(&models.Reading{Sensor: "a", At: 1})                                   // want `^safe: unique-key`
	db.Create(&models.Tag{Name: "a"})                                                // want `not safe: no-unique-key`
	db.Create(&Link{A: 1, B: 2})                                                     // want `^safe: unique-key`
	db.Create(&Half{A: 1, B: 2})                                                     // want `not safe: no-unique-key`
	db.Create(&Joined{A: 1})                                                         // want `not safe: no-unique-key`
	db.Model(&models.Order{}).Where("id = ?", id).Update("n", gorm.Expr("n + 1"))    // want `not safe: relative-value`
	db.Model(&models.Order{}).Where("id = ?", id).Update("n", 1)                     // want `^safe: plain-values`
	db.Where(models.Order{Ref: "a"}).FirstOrCreate(&models.Order{})                  // want `not safe: check-then-insert`
	db.Delete(u)                                                                     // want `^safe: guarded`
	db.Exec("INSERT INTO orders (ref) VALUES ('a')")                                 // want `cannot tell: unknown-table`
	db.Table("archive").Create(&models.Order{ID: 1})                                 // want `cannot tell: unknown-table`
	db.Model(&models.Order{}).Where("id IN (SELECT id FROM archive)").Update("n", 1) // want `^safe: plain-values|cannot tell`
}
