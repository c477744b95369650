// Package calls has calls of GORM for which semel lint has to write the statement that GORM runs.
package calls

import (
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// User has what most models have.
type User struct {
	gorm.Model
	Email string `gorm:"uniqueIndex"`
	Name  string
	Age   *int
	Admin bool `gorm:"default:true"`
}

// Order has a key that the database makes.
type Order struct {
	ID      int64
	Ref     string `gorm:"column:reference"`
	Status  string
	N       int64
	UserID  uint `gorm:"<-:create"`
	Seen    time.Time
	HTTPLog []byte
	Secret  string  `gorm:"-"`
	Address Address `gorm:"embedded;embeddedPrefix:to_"`
}

// Address is embedded.
type Address struct{ City, ZIPCode string }

// Category has a plural of its own, and a key that the program makes.
type Category struct {
	Code      string `gorm:"primaryKey"`
	Title     string
	UpdatedAt int64
}

// Person has a table of its own.
type Person struct {
	UUID string `gorm:"primaryKey;default:gen_random_uuid()"`
	Name string
}

// TableName implements gorm's Tabler.
func (Person) TableName() string { return "staff.people" }

// All returns the calls, one on a line.
func All() []func(*gorm.DB) *gorm.DB {
	id, ref, age := int64(7), "r", 30
	user, order := User{Email: "e", Name: "n"}, Order{ID: id, Ref: ref, Status: "new"}
	set := map[string]any{"Status": "paid"}
	set["n"] = gorm.Expr("n + ?", 1)
	return []func(*gorm.DB) *gorm.DB{
		func(db *gorm.DB) *gorm.DB { return db.Create(&user) },
		func(db *gorm.DB) *gorm.DB { return db.Create(&User{Email: "e", Age: &age, Admin: true}) },
		func(db *gorm.DB) *gorm.DB { return db.Create(&User{Model: gorm.Model{ID: 5}, Email: "e"}) },
		func(db *gorm.DB) *gorm.DB { return db.Create(&Order{Ref: ref}) },
		func(db *gorm.DB) *gorm.DB { return db.Create(&order) },
		func(db *gorm.DB) *gorm.DB { return db.Create(&Category{Code: "c", Title: ref}) },
		func(db *gorm.DB) *gorm.DB { return db.Create(&Person{Name: "p"}) },
		func(db *gorm.DB) *gorm.DB { return db.Create(&Person{UUID: "u", Name: "p"}) },
		func(db *gorm.DB) *gorm.DB { return db.Omit("Name", "age").Create(&User{Email: "e", Name: "n"}) },
		func(db *gorm.DB) *gorm.DB { return db.Select("Email").Create(&User{Email: "e", Name: "n"}) },
		func(db *gorm.DB) *gorm.DB { return db.Model(&Order{}).Create(map[string]any{"Ref": ref, "n": 5}) },
		func(db *gorm.DB) *gorm.DB { return db.Table("archive").Create(&Order{Ref: ref}) },
		func(db *gorm.DB) *gorm.DB {
			return db.Clauses(clause.OnConflict{DoNothing: true}).Create(&User{Email: "e"})
		},
		func(db *gorm.DB) *gorm.DB {
			return db.Clauses(clause.OnConflict{UpdateAll: true}).Create(&User{Email: "e"})
		},
		func(db *gorm.DB) *gorm.DB {
			return db.Clauses(clause.OnConflict{UpdateAll: true}).Create(&Order{ID: 5})
		},
		func(db *gorm.DB) *gorm.DB {
			return db.Clauses(clause.OnConflict{UpdateAll: true}).Create(&Category{Code: "c", Title: ref})
		},
		func(db *gorm.DB) *gorm.DB {
			return db.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "email"}}, DoUpdates: clause.AssignmentColumns([]string{"name", "age"})}).Create(&User{Email: "e"})
		},
		func(db *gorm.DB) *gorm.DB {
			return db.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "code"}}, DoUpdates: clause.Assignments(map[string]any{"title": gorm.Expr("categories.title || ?", "x")})}).Create(&Category{Code: "c"})
		},
		func(db *gorm.DB) *gorm.DB { return db.Model(&Order{}).Where("id = ?", id).Update("status", "paid") },
		func(db *gorm.DB) *gorm.DB {
			return db.Model(&Order{}).Where("id = ?", id).Update("N", gorm.Expr("n - ?", 1))
		},
		func(db *gorm.DB) *gorm.DB {
			return db.Model(&Order{ID: id}).Where("status = ? OR n > ?", "new", 5).Updates(set)
		},
		func(db *gorm.DB) *gorm.DB {
			return db.Model(&Order{ID: id}).Updates(Order{Status: "paid", N: 5, UserID: 3})
		},
		func(db *gorm.DB) *gorm.DB { return db.Updates(&Order{ID: id, Status: "paid"}) },
		func(db *gorm.DB) *gorm.DB { return db.Model(&User{}).Where("email = ?", "e").Update("name", "n") },
		func(db *gorm.DB) *gorm.DB { return db.Model(&User{}).Where("email = ?", "e").UpdateColumn("name", "n") },
		func(db *gorm.DB) *gorm.DB {
			return db.Model(&User{}).Where("email = ?", "e").UpdateColumns(map[string]any{"name": "n", "Age": nil})
		},
		func(db *gorm.DB) *gorm.DB {
			return db.Unscoped().Model(&User{}).Where("email = ?", "e").Or("name = ?", "n").Update("age", 5)
		},
		func(db *gorm.DB) *gorm.DB {
			return db.Model(&User{}).Where("email = ?", "e").Or("name = ?", "n").Update("age", 5)
		},
		func(db *gorm.DB) *gorm.DB {
			return db.Model(&Order{}).Where(&Order{Ref: ref, Status: "new"}).Update("n", 5)
		},
		func(db *gorm.DB) *gorm.DB {
			return db.Model(&Order{}).Where(map[string]any{"reference": ref, "status": []string{"a", "b"}}).Update("n", 5)
		},
		func(db *gorm.DB) *gorm.DB {
			return db.Model(&Order{}).Where("status IN ?", []string{"a", "b"}).Not("n = ?", 5).Update("n", 5)
		},
		func(db *gorm.DB) *gorm.DB { return db.Model(&Order{}).Where("status", "a").Update("n", 5) },
		func(db *gorm.DB) *gorm.DB {
			return db.Model(&Order{}).Where(db.Where("n = 1").Or("n = 2")).Where("status = ?", "a").Update("n", 5)
		},
		func(db *gorm.DB) *gorm.DB {
			return db.Model(&Order{}).Select("status", "n").Where("id = ?", id).Updates(Order{Status: "paid"})
		},
		func(db *gorm.DB) *gorm.DB {
			return db.Model(&Order{}).Omit("status").Where("id = ?", id).Updates(map[string]any{"status": "paid", "n": 5})
		},
		func(db *gorm.DB) *gorm.DB {
			return db.Table("archive").Where("id = ?", id).Updates(map[string]any{"status": "paid", "n": 5})
		},
		func(db *gorm.DB) *gorm.DB { return db.Save(&Order{ID: id, Status: "paid"}) },
		func(db *gorm.DB) *gorm.DB { return db.Save(&Order{Status: "paid"}) },
		func(db *gorm.DB) *gorm.DB { return db.Save(&User{Model: gorm.Model{ID: 5}, Email: "e"}) },
		func(db *gorm.DB) *gorm.DB { return db.Save(&Category{Code: "c"}) },
		func(db *gorm.DB) *gorm.DB { return db.Delete(&Order{}, id) },
		func(db *gorm.DB) *gorm.DB { return db.Delete(&Order{}, []int64{1, 2}) },
		func(db *gorm.DB) *gorm.DB { return db.Delete(&Order{ID: id}) },
		func(db *gorm.DB) *gorm.DB { return db.Where("status = ?", "old").Delete(&Order{}) },
		func(db *gorm.DB) *gorm.DB { return db.Delete(&Person{}, "name = ?", "p") },
		func(db *gorm.DB) *gorm.DB { return db.Delete(&User{Model: gorm.Model{ID: 5}}) },
		func(db *gorm.DB) *gorm.DB { return db.Where("name = ?", "n").Or("email = ?", "e").Delete(&User{}) },
		func(db *gorm.DB) *gorm.DB { return db.Unscoped().Where("name = ?", "n").Delete(&User{}) },
		func(db *gorm.DB) *gorm.DB {
			return db.Where(Order{Ref: ref}).Attrs(Order{Status: "new"}).FirstOrCreate(&Order{})
		},
		func(db *gorm.DB) *gorm.DB { return db.FirstOrCreate(&Category{}, Category{Code: "c"}) },
	}
}
