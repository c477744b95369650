// Package clause has the signatures of GORM's clauses.
package clause

const Associations = "~~~as~~~"

type Builder interface{ WriteByte(byte) error }

type Expression interface{ Build(Builder) }

type Interface interface {
	Name() string
	Expression
}

type Expr struct {
	SQL  string
	Vars []interface{}
}

type Column struct {
	Table, Name, Alias string
	Raw                bool
}

type Assignment struct {
	Column Column
	Value  interface{}
}

type Set []Assignment

type Where struct{ Exprs []Expression }

type OnConflict struct {
	Columns      []Column
	Where        Where
	TargetWhere  Where
	OnConstraint string
	DoNothing    bool
	DoUpdates    Set
	UpdateAll    bool
}

type Locking struct{ Strength string }

type Returning struct{ Columns []Column }

type Insert struct{ Modifier string }

type Eq struct{ Column, Value interface{} }

type Lt Eq

type From struct{}

func (Expr) Build(Builder)       {}
func (OnConflict) Build(Builder) {}
func (Locking) Build(Builder)    {}
func (Returning) Build(Builder)  {}
func (Insert) Build(Builder)     {}
func (Eq) Build(Builder)         {}
func (Lt) Build(Builder)         {}
func (From) Build(Builder)       {}

func AssignmentColumns(values []string) Set         { return nil }
func Assignments(values map[string]interface{}) Set { return nil }
