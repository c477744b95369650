package pgstore

import (
	"encoding/binary"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgtype"
)

var _ pgx.Rows = (*memRows)(nil)

var errNoRow = errors.New("pgstore: no row to scan (call Next first)")

// memRows are rows that were read into memory.
type memRows struct {
	typeMap *pgtype.Map
	conn    *pgx.Conn
	fields  []pgconn.FieldDescription
	rows    [][][]byte
	tag     pgconn.CommandTag
	at      int // the present row, counted from 1
	err     error
}

func (r *memRows) describe(fields []pgproto3.FieldDescription) {
	r.fields = make([]pgconn.FieldDescription, len(fields))
	for i := range fields {
		f := &fields[i]
		r.fields[i] = pgconn.FieldDescription{
			Name: string(f.Name), TableOID: f.TableOID, TableAttributeNumber: f.TableAttributeNumber, DataTypeOID: f.DataTypeOID,
			DataTypeSize: f.DataTypeSize, TypeModifier: f.TypeModifier, Format: f.Format,
		}
	}
}

// add copies a row.
func (r *memRows) add(values [][]byte) {
	size := 0
	for _, v := range values {
		size += len(v)
	}
	memory := make([]byte, 0, size)
	row := make([][]byte, len(values))
	for i, v := range values {
		if v != nil {
			from := len(memory)
			memory = append(memory, v...)
			row[i] = memory[from:len(memory):len(memory)]
		}
	}
	r.rows = append(r.rows, row)
}

func (r *memRows) Close() { r.at = len(r.rows) + 1 }

func (r *memRows) Err() error { return r.err }

func (r *memRows) CommandTag() pgconn.CommandTag { return r.tag }

func (r *memRows) FieldDescriptions() []pgconn.FieldDescription { return r.fields }

func (r *memRows) Next() bool {
	if r.at <= len(r.rows) {
		r.at++
	}
	return r.at <= len(r.rows)
}

func (r *memRows) Scan(dest ...any) error {
	if r.at < 1 || r.at > len(r.rows) {
		return errNoRow
	}
	if len(dest) == 1 {
		if whole, ok := dest[0].(pgx.RowScanner); ok {
			return r.fail(whole.ScanRow(r))
		}
	}
	return r.fail(pgx.ScanRow(r.typeMap, r.fields, r.RawValues(), dest...))
}

// fail closes the rows on an error, as pgx does.
func (r *memRows) fail(err error) error {
	if err != nil {
		r.err = err
		r.Close()
	}
	return err
}

func (r *memRows) Values() ([]any, error) {
	if r.at < 1 || r.at > len(r.rows) {
		return nil, errNoRow
	}
	values := make([]any, len(r.fields))
	for i, raw := range r.RawValues() {
		if raw == nil {
			continue
		}
		f := &r.fields[i]
		typ, ok := r.typeMap.TypeForOID(f.DataTypeOID)
		if !ok { // as pgx has it
			values[i] = string(raw)
			continue
		}
		v, err := typ.Codec.DecodeValue(r.typeMap, f.DataTypeOID, f.Format, raw)
		if err != nil {
			return nil, r.fail(err)
		}
		values[i] = v
	}
	return values, nil
}

func (r *memRows) RawValues() [][]byte {
	if r.at < 1 || r.at > len(r.rows) {
		return nil
	}
	return r.rows[r.at-1]
}

func (r *memRows) Conn() *pgx.Conn { return r.conn }

func (r *memRows) TypeMap() *pgtype.Map { return r.typeMap }

// integer reads a bigint.
func integer(v []byte) int64 {
	if len(v) != 8 {
		return 0
	}
	return int64(binary.BigEndian.Uint64(v)) //nolint:gosec // the same bits.
}
