package pg

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/jmoiron/sqlx/reflectx"
	"github.com/lib/pq"
)

// Querier is a pool or a transaction.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// ReadRow reads the first row into dest; sql.ErrNoRows if there is none.
func ReadRow(ctx context.Context, q Querier, dest any, query string, args ...any) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return err
		}
		return sql.ErrNoRows
	}
	row := reflect.ValueOf(dest).Elem()
	fields, err := fieldsOf(row.Type(), rows)
	if err != nil {
		return err
	}
	if err := scanRow(rows, row, fields); err != nil {
		return err
	}
	return rows.Close()
}

// readRows reads all rows into the slice at dest. Without rows, a nil slice stays nil, and another one becomes empty.
func readRows(ctx context.Context, q Querier, dest any, query string, args ...any) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	list := reflect.ValueOf(dest).Elem()
	if !list.IsNil() {
		list.Set(reflect.MakeSlice(list.Type(), 0, 0))
	}
	fields, err := fieldsOf(list.Type().Elem(), rows)
	if err != nil {
		return err
	}
	for rows.Next() {
		row := reflect.New(list.Type().Elem()).Elem()
		if err := scanRow(rows, row, fields); err != nil {
			return err
		}
		list.Set(reflect.Append(list, row))
	}
	return rows.Err()
}

// mapper finds the field of a column: by its `db` tag, or its name in lower case.
var mapper = reflectx.NewMapperFunc("db", strings.ToLower)

// fieldsOf returns the index of the field for each column; nil for a type that is one column.
func fieldsOf(t reflect.Type, rows *sql.Rows) ([][]int, error) {
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	if t.Kind() != reflect.Struct || t == reflect.TypeFor[time.Time]() || reflect.PointerTo(t).Implements(scannerType) {
		if len(columns) != 1 {
			return nil, fmt.Errorf("%d columns cannot be read into a %s", len(columns), t)
		}
		return nil, nil
	}
	fields := mapper.TraversalsByName(t, columns)
	for i, f := range fields {
		if len(f) == 0 {
			return nil, fmt.Errorf("a %s has no field for the column %s", t, columns[i])
		}
	}
	return fields, nil
}

func scanRow(rows *sql.Rows, row reflect.Value, fields [][]int) error {
	if fields == nil {
		return rows.Scan(field{row})
	}
	into := make([]any, len(fields))
	for i, f := range fields {
		into[i] = field{reflectx.FieldByIndexes(row, f)}
	}
	return rows.Scan(into...)
}

// field is the destination of one value. NULL becomes the zero value. An array is read into a slice. A struct, a map or
// a slice may also be read from JSON.
type field struct{ reflect.Value }

var scannerType = reflect.TypeFor[sql.Scanner]()

// Scan implements [sql.Scanner].
func (f field) Scan(src any) error {
	if src == nil {
		f.SetZero()
		return nil
	}
	if s, ok := f.Addr().Interface().(sql.Scanner); ok {
		return s.Scan(src)
	}
	if f.Kind() == reflect.Pointer {
		f.Set(reflect.New(f.Type().Elem()))
		return field{f.Elem()}.Scan(src)
	}
	switch v := src.(type) {
	case []byte:
		return f.scanText(string(v))
	case string:
		return f.scanText(v)
	case int64:
		switch {
		case f.CanInt() && !f.OverflowInt(v):
			f.SetInt(v)
			return nil
		case f.CanUint() && v >= 0 && !f.OverflowUint(uint64(v)):
			f.SetUint(uint64(v))
			return nil
		case f.CanFloat():
			f.SetFloat(float64(v))
			return nil
		}
	}
	if from := reflect.ValueOf(src); from.Kind() == f.Kind() && from.CanConvert(f.Type()) {
		f.Set(from.Convert(f.Type()))
		return nil
	}
	return fmt.Errorf("a %T does not go into a %s", src, f.Type())
}

func (f field) scanText(s string) error {
	switch kind := f.Kind(); {
	case kind == reflect.String:
		f.SetString(s)
	case f.CanInt():
		n, err := strconv.ParseInt(s, 10, f.Type().Bits())
		f.SetInt(n)
		return err
	case f.CanFloat():
		n, err := strconv.ParseFloat(s, f.Type().Bits())
		f.SetFloat(n)
		return err
	case kind == reflect.Slice && f.Type().Elem().Kind() == reflect.Uint8:
		f.SetBytes([]byte(s))
	case kind == reflect.Slice && strings.HasPrefix(s, "{"):
		return f.scanArray(s)
	case kind == reflect.Slice || kind == reflect.Map || kind == reflect.Struct && f.Type() != reflect.TypeFor[time.Time]():
		f.SetZero()
		return json.Unmarshal([]byte(s), f.Addr().Interface())
	default:
		return fmt.Errorf("a text does not go into a %s", f.Type())
	}
	return nil
}

func (f field) scanArray(s string) error {
	var elements pq.StringArray
	if err := elements.Scan(s); err != nil {
		return err
	}
	f.Set(reflect.MakeSlice(f.Type(), len(elements), len(elements)))
	for i, e := range elements {
		if err := (field{f.Index(i)}).scanText(e); err != nil {
			return err
		}
	}
	return nil
}
