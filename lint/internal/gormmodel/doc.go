// Package gormmodel reads the models of GORM as GORM itself does: which table a struct type has, which columns, keys and
// defaults, and which methods run around a statement. It knows types and tags alone, so that it needs no GORM.
package gormmodel
