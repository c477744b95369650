package mysql

import (
	"fmt"
	"strings"

	"github.com/sqlc-dev/marino/ast"
	"github.com/sqlc-dev/marino/format"
	"github.com/sqlc-dev/marino/mysql"
	"github.com/sqlc-dev/marino/types"
)

// castType writes the type of a cast: "signed", "char(10)", "decimal(10,2)".
func castType(n *ast.FuncCastExpr) string {
	if n.FunctionType == ast.CastBinaryOperator {
		return "binary"
	}
	var b strings.Builder
	n.Tp.RestoreAsCastType(format.NewRestoreCtx(format.RestoreKeyWordLowercase, &b), n.ExplicitCharSet)
	written := strings.ReplaceAll(strings.ToLower(b.String()), ", ", ",")
	return strings.ReplaceAll(written, " charset ", " character set ")
}

// columnType writes the type of a column: "bigint unsigned", "varchar(10)", "enum('a','b')".
func columnType(tp *types.FieldType) string {
	written := types.TypeToStr(tp.GetType(), tp.GetCharset())
	length, decimals := tp.GetFlen(), tp.GetDecimal()
	switch tp.GetType() {
	case mysql.TypeEnum, mysql.TypeSet:
		all := make([]string, len(tp.GetElems()))
		for i, e := range tp.GetElems() {
			all[i] = "'" + strings.ReplaceAll(e, "'", "''") + "'"
		}
		written += "(" + strings.Join(all, ",") + ")"
	case mysql.TypeTimestamp, mysql.TypeDatetime, mysql.TypeDuration:
		if decimals > 0 {
			written += fmt.Sprintf("(%d)", decimals)
		}
	case mysql.TypeNewDecimal, mysql.TypeFloat, mysql.TypeDouble:
		switch {
		case length > 0 && decimals >= 0:
			written += fmt.Sprintf("(%d,%d)", length, decimals)
		case length > 0 && tp.GetType() == mysql.TypeNewDecimal:
			written += fmt.Sprintf("(%d)", length)
		}
	default:
		if length >= 0 {
			written += fmt.Sprintf("(%d)", length)
		}
	}
	if mysql.HasUnsignedFlag(tp.GetFlag()) && tp.GetType() != mysql.TypeYear && tp.GetType() != mysql.TypeBit {
		written += " unsigned"
	}
	if mysql.HasZerofillFlag(tp.GetFlag()) {
		written += " zerofill"
	}
	return written
}

// compared tells whether values of the type are compared by a collation.
func compared(tp *types.FieldType) bool {
	switch tp.GetType() {
	case mysql.TypeVarchar, mysql.TypeVarString, mysql.TypeString, mysql.TypeEnum, mysql.TypeSet,
		mysql.TypeBlob, mysql.TypeTinyBlob, mysql.TypeMediumBlob, mysql.TypeLongBlob:
		return true
	}
	return false
}
