// Package models holds models in a package of their own.
package models

import (
	"time"

	"gorm.io/gorm"
)

type User struct {
	gorm.Model
	Email string `gorm:"uniqueIndex"`
	Name  string
	Level string
}

type Order struct {
	ID      int64
	Ref     string
	Status  string
	N       int64
	Version int64
}

// Note has a table with another name, and a key that the program makes.
type Note struct {
	Ref    string `gorm:"primaryKey"`
	N      int64  `gorm:"not null"`
	SeenAt *time.Time
	By     string `gorm:"column:by"`
}

func (Note) TableName() string { return prefix + "notes" }

const prefix = "shop_"

type Tag struct {
	ID   string `gorm:"type:uuid;default:gen_random_uuid();primaryKey"`
	Name string
}

// Hooked changes itself before it is created.
type Hooked struct {
	ID   int64
	Name string
}

func (Hooked) TableName() string { return "hooked" }

func (h *Hooked) BeforeCreate(*gorm.DB) error { return nil }

func (h *Hooked) AfterUpdate(*gorm.DB) error { return nil }

type Cart struct {
	ID    int64
	Owner string
	Items []Item
}

type Item struct {
	ID     int64
	CartID int64
	SKU    string
}

type Reading struct {
	Sensor    string `gorm:"primaryKey"`
	At        int64  `gorm:"primaryKey;autoIncrement:false"`
	Value     float64
	UpdatedAt int64
}

// Moved has a table that depends on the time of day.
type Moved struct{ ID int64 }

func (Moved) TableName() string {
	if time.Now().Hour() > 12 {
		return "a"
	}
	return "b"
}
