// Package gorm has the signatures of GORM.
package gorm

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"time"

	"gorm.io/gorm/clause"
)

var ErrRecordNotFound = errors.New("record not found")

type DB struct {
	Error        error
	RowsAffected int64
}

type Association struct{ Error error }

type Session struct {
	NewDB, DryRun, SkipHooks, AllowGlobalUpdate, FullSaveAssociations bool
	Context                                                           context.Context
}

type Model struct {
	ID        uint `gorm:"primarykey"`
	CreatedAt time.Time
	UpdatedAt time.Time
	DeletedAt DeletedAt `gorm:"index"`
}

type DeletedAt sql.NullTime

func (DeletedAt) Value() (driver.Value, error) { return nil, nil }

func (DeletedAt) DeleteClauses() []clause.Interface { return nil }

func Expr(expr string, args ...interface{}) clause.Expr { return clause.Expr{SQL: expr, Vars: args} }

func (db *DB) Association(column string) *Association                          { return nil }
func (db *DB) Assign(attrs ...interface{}) *DB                                 { return db }
func (db *DB) Attrs(attrs ...interface{}) *DB                                  { return db }
func (db *DB) Begin(opts ...*sql.TxOptions) *DB                                { return db }
func (db *DB) Clauses(conds ...clause.Expression) *DB                          { return db }
func (db *DB) Commit() *DB                                                     { return db }
func (db *DB) Count(count *int64) *DB                                          { return db }
func (db *DB) Create(value interface{}) *DB                                    { return db }
func (db *DB) CreateInBatches(value interface{}, batchSize int) *DB            { return db }
func (db *DB) Debug() *DB                                                      { return db }
func (db *DB) Delete(value interface{}, conds ...interface{}) *DB              { return db }
func (db *DB) Exec(sql string, values ...interface{}) *DB                      { return db }
func (db *DB) Find(dest interface{}, conds ...interface{}) *DB                 { return db }
func (db *DB) First(dest interface{}, conds ...interface{}) *DB                { return db }
func (db *DB) FirstOrCreate(dest interface{}, conds ...interface{}) *DB        { return db }
func (db *DB) FirstOrInit(dest interface{}, conds ...interface{}) *DB          { return db }
func (db *DB) Get(key string) (interface{}, bool)                              { return nil, false }
func (db *DB) Joins(query string, args ...interface{}) *DB                     { return db }
func (db *DB) Limit(limit int) *DB                                             { return db }
func (db *DB) Model(value interface{}) *DB                                     { return db }
func (db *DB) Not(query interface{}, args ...interface{}) *DB                  { return db }
func (db *DB) Omit(columns ...string) *DB                                      { return db }
func (db *DB) Or(query interface{}, args ...interface{}) *DB                   { return db }
func (db *DB) Order(value interface{}) *DB                                     { return db }
func (db *DB) Preload(query string, args ...interface{}) *DB                   { return db }
func (db *DB) Raw(sql string, values ...interface{}) *DB                       { return db }
func (db *DB) Rollback() *DB                                                   { return db }
func (db *DB) Save(value interface{}) *DB                                      { return db }
func (db *DB) Scan(dest interface{}) *DB                                       { return db }
func (db *DB) Scopes(funcs ...func(*DB) *DB) *DB                               { return db }
func (db *DB) Select(query interface{}, args ...interface{}) *DB               { return db }
func (db *DB) Session(config *Session) *DB                                     { return db }
func (db *DB) Set(key string, value interface{}) *DB                           { return db }
func (db *DB) Table(name string, args ...interface{}) *DB                      { return db }
func (db *DB) Transaction(fc func(tx *DB) error, opts ...*sql.TxOptions) error { return fc(db) }
func (db *DB) Unscoped() *DB                                                   { return db }
func (db *DB) Update(column string, value interface{}) *DB                     { return db }
func (db *DB) UpdateColumn(column string, value interface{}) *DB               { return db }
func (db *DB) UpdateColumns(values interface{}) *DB                            { return db }
func (db *DB) Updates(values interface{}) *DB                                  { return db }
func (db *DB) Where(query interface{}, args ...interface{}) *DB                { return db }
func (db *DB) WithContext(ctx context.Context) *DB                             { return db }

func (a *Association) Append(values ...interface{}) error  { return nil }
func (a *Association) Clear() error                        { return nil }
func (a *Association) Count() int64                        { return 0 }
func (a *Association) Delete(values ...interface{}) error  { return nil }
func (a *Association) Replace(values ...interface{}) error { return nil }

// The generic form.

type Interface[T any] interface {
	Exec(ctx context.Context, sql string, values ...interface{}) error
	CreateInterface[T]
}

type CreateInterface[T any] interface {
	ChainInterface[T]
	Create(ctx context.Context, r *T) error
	CreateInBatches(ctx context.Context, r *[]T, batchSize int) error
}

type ChainInterface[T any] interface {
	First(ctx context.Context) (T, error)
	Find(ctx context.Context) ([]T, error)
	Where(query interface{}, args ...interface{}) ChainInterface[T]
	Select(query string, args ...interface{}) ChainInterface[T]
	Delete(ctx context.Context) (int, error)
	Update(ctx context.Context, name string, value any) (int, error)
	Updates(ctx context.Context, t T) (int, error)
	Set(assignments ...clause.Assignment) SetUpdateOnlyInterface[T]
}

type SetUpdateOnlyInterface[T any] interface {
	Update(ctx context.Context) (int, error)
}

func G[T any](db *DB, opts ...clause.Expression) Interface[T] { return nil }
