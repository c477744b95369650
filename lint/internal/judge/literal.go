package judge

import (
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/lint/internal/tree"
)

// literal returns the constant that an expression is, through casts that do not change it and signs.
func literal(e tree.Expr) *tree.Literal {
	switch e := e.(type) {
	case *tree.Literal:
		return e
	case *tree.Op:
		if e.Name != "neg" || len(e.Args) != 1 {
			return nil
		}
		if l := literal(e.Args[0]); l != nil && l.Kind == tree.Number {
			if text, minus := strings.CutPrefix(l.Text, "-"); minus {
				return &tree.Literal{Kind: tree.Number, Text: text}
			}
			return &tree.Literal{Kind: tree.Number, Text: "-" + l.Text}
		}
	}
	return nil
}

func isNull(e tree.Expr) bool {
	l := literal(e)
	return l != nil && l.Kind == tree.Null
}

// number returns the value of a number.
func number(l *tree.Literal) *big.Rat {
	if l == nil || l.Kind != tree.Number || len(l.Text) > 60 { // more digits prove nothing
		return nil
	}
	if _, exponent, ok := strings.Cut(strings.ToLower(l.Text), "e"); ok {
		if n, err := strconv.Atoi(exponent); err != nil || n > 60 || n < -60 {
			return nil
		}
	}
	r, ok := new(big.Rat).SetString(l.Text)
	if !ok {
		return nil
	}
	return r
}

// builtin are the types of PostgreSQL whose columns have no default but their own.
//
//nolint:gochecknoglobals // a constant.
var builtin = set(`smallint int bigint integer real double numeric decimal money text varchar character char bytea boolean uuid json jsonb xml
	timestamp timestamptz date time timetz interval inet cidr macaddr macaddr8 bit point line lseg box path polygon circle tsvector tsquery
	int4range int8range numrange tsrange tstzrange daterange int4multirange int8multirange nummultirange tsmultirange tstzmultirange datemultirange
	name oid pg_lsn smallserial serial bigserial hstore citext ltree jsonpath regclass bpchar varbit`)

// mayDefault reports whether the type of a column may have a default: a domain does.
func (j *judge) mayDefault(def *tree.ColumnDef) bool {
	if j.dialect != dialect.PostgreSQL {
		return false
	}
	base, _, _ := strings.Cut(strings.TrimRight(def.Type, "[]"), "(")
	first, _, _ := strings.Cut(base, " ")
	return !builtin[first] && !j.schema.Defines(base)
}

// kindOf sorts the types of columns.
type kindOf uint8

const (
	otherType kindOf = iota
	integer
	boolean
	text
	float
)

var (
	integers = regexp.MustCompile(`^(tinyint|smallint|mediumint|int|integer|bigint|int2|int4|int8|smallserial|serial|bigserial|serial2|serial4|serial8)(\(\d+\))?( unsigned)?( zerofill)?$`)
	texts    = regexp.MustCompile(`^(text|tinytext|mediumtext|longtext|varchar|character varying|nvarchar)(\((\d+)\))?$`)
)

// typeOf sorts a type.
func typeOf(name string) kindOf {
	switch {
	case integers.MatchString(name):
		return integer
	case name == "boolean" || name == "bool":
		return boolean
	case texts.MatchString(name):
		return text
	case name == "real" || name == "double precision" || name == "double" || name == "float" || name == "float8":
		return float
	}
	return otherType
}

// bits bounds the integers that every column of a type keeps as they are.
func bits(name string) int {
	base, _, _ := strings.Cut(name, "(")
	base, _, _ = strings.Cut(base, " ")
	switch base {
	case "tinyint":
		return 7
	case "smallint", "int2", "smallserial", "serial2":
		return 15
	case "mediumint":
		return 23
	case "bigint", "int8", "bigserial", "serial8":
		return 63
	}
	return 31
}

// shortest is the length in bytes that every text of MySQL without one of its own has room for.
const shortest = 255

// keeps reports whether a column keeps a literal exactly as it is written.
func keeps(d dialect.Dialect, c *tree.ColumnDef, l *tree.Literal) bool {
	if c == nil || l == nil {
		return false
	}
	kind := typeOf(c.Type)
	switch l.Kind {
	case tree.Number:
		n := number(l)
		if n == nil || !n.IsInt() || n.Num().BitLen() > bits(c.Type) || strings.ContainsAny(l.Text, ".eE") || strings.Contains(c.Type, "unsigned") && n.Sign() < 0 {
			return false
		}
		return kind == integer || kind == float && n.Num().BitLen() <= 24 || kind == boolean && d != dialect.PostgreSQL && n.Num().BitLen() <= 1
	case tree.Bool:
		return kind == boolean || kind == integer && d != dialect.PostgreSQL
	case tree.String:
		if kind != text || d == dialect.MySQL && len(l.Text) > shortest { // without a strict sql_mode it may be cut
			return false
		}
		if limit := texts.FindStringSubmatch(c.Type)[3]; limit != "" {
			n, err := strconv.Atoi(limit)
			return err == nil && len(l.Text) <= n
		}
		return true
	case tree.Null, tree.Bytes:
	}
	return false
}

// differ reports whether two literals are certainly different values of the column.
func differ(d dialect.Dialect, c *tree.ColumnDef, a, b *tree.Literal) bool {
	if a == nil || b == nil || a.Kind == tree.Null || b.Kind == tree.Null {
		return false
	}
	if x, y := truth(a), truth(b); x != nil && y != nil {
		return x.Cmp(y) != 0
	}
	if a.Kind != tree.String || b.Kind != tree.String {
		return false
	}
	if d == dialect.PostgreSQL && strings.Contains(a.Text+b.Text, `\`) {
		return false // without standard_conforming_strings they may be the same
	}
	x, okX := folded(d, c, a.Text)
	y, okY := folded(d, c, b.Text)
	return okX && okY && x != y
}

// truth is the number of a literal, of a truth value where the dialect has none of its own.
func truth(l *tree.Literal) *big.Rat {
	if l.Kind == tree.Bool {
		return new(big.Rat).SetInt64(map[bool]int64{true: 1}[l.Text == "true"])
	}
	return number(l)
}

// same reports whether two literals are certainly the same value.
func same(a, b *tree.Literal) bool {
	return a != nil && b != nil && a.Kind == b.Kind && a.Kind != tree.Null && a.Text == b.Text && a.Written == b.Written
}

var plain = regexp.MustCompile(`^[A-Za-z0-9_. -]*$`)

// folded returns a text so that two of them differ only when the column's collation takes the
// texts for different ones. ok is false when that cannot be said.
func folded(d dialect.Dialect, c *tree.ColumnDef, s string) (_ string, ok bool) {
	if c == nil || typeOf(c.Type) != text {
		return "", false
	}
	name := strings.ToLower(c.Collation)
	switch d {
	case dialect.PostgreSQL:
		return s, name == "" || name == "c" || name == "posix" || name == "default" || name == "ucs_basic"
	case dialect.SQLite:
		switch name {
		case "", "binary":
			return s, true
		case "nocase":
			return strings.ToLower(s), true
		case "rtrim":
			return strings.TrimRight(s, " "), true
		}
		return "", false
	case dialect.MySQL:
	}
	// Collations of MySQL ignore case, accents and blanks at the end, and some take u, v and w, or i
	// and j, for the same letter; some ignore punctuation.
	return sameLetters.Replace(strings.ToLower(s)), plain.MatchString(s)
}

//nolint:gochecknoglobals // a constant.
var sameLetters = strings.NewReplacer("w", "v", "u", "v", "j", "i", "y", "i", " ", "", "-", "", ".", "", "_", "")
