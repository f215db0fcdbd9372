package pg

import (
	"context"
	"database/sql/driver"
	"fmt"
	"reflect"
	"strconv"
	"time"

	"github.com/lib/pq"
)

// Columns collects rows for a statement that unnests one array for each column. The zero value has no rows.
type Columns struct {
	arrays [][]*string // elements in PostgreSQL's text form
	err    error       // the first value that cannot be sent
}

// Add adds a row. A value is a string, a number, a bool, a time, a [driver.Valuer] of one of them such as [JSON], or a
// pointer to one; nil is NULL. All rows have the same number of values.
func (c *Columns) Add(values ...any) {
	if c.arrays == nil {
		c.arrays = make([][]*string, len(values))
	}
	for i, v := range values {
		element, err := textOf(v)
		if err != nil && c.err == nil {
			c.err = fmt.Errorf("column %d: %w", i+1, err)
		}
		c.arrays[i] = append(c.arrays[i], element)
	}
}

// Len returns the number of rows.
func (c Columns) Len() int {
	if len(c.arrays) == 0 {
		return 0
	}
	return len(c.arrays[0])
}

// Args returns the arguments of a statement: the given ones, then one array for each column.
func (c Columns) Args(before ...any) ([]any, error) {
	args := append([]any{}, before...)
	for _, a := range c.arrays {
		args = append(args, pq.Array(a))
	}
	return args, c.err
}

// Exec is [Tx.Exec] with the given arguments, then one array for each column. Without rows it does nothing.
func (c Columns) Exec(ctx context.Context, t *Tx, query string, before ...any) error {
	return c.with(before, func(args []any) error { return t.Exec(ctx, query, args...) })
}

// ExecRows is [Tx.ExecRows] with the same arguments.
func (c Columns) ExecRows(ctx context.Context, t *Tx, query string, before ...any) (n int, err error) {
	err = c.with(before, func(args []any) (err error) {
		n, err = t.ExecRows(ctx, query, args...)
		return err
	})
	return n, err
}

// Select reads the rows that a statement with the same arguments returns. Without rows it does nothing.
func (c Columns) Select(ctx context.Context, t *Tx, dest any, query string, before ...any) error {
	return c.with(before, func(args []any) error { return t.Select(ctx, dest, query, args...) })
}

func (c Columns) with(before []any, do func(args []any) error) error {
	if c.Len() == 0 {
		return nil
	}
	args, err := c.Args(before...)
	if err != nil {
		return err
	}
	return do(args)
}

// textOf returns a value in PostgreSQL's text form, nil for NULL.
func textOf(v any) (*string, error) {
	var s string
	switch v := v.(type) {
	case nil:
		return nil, nil
	case string:
		s = v
	case *string:
		return v, nil
	case time.Time:
		s = Timestamp(v)
	case driver.Valuer:
		of, err := v.Value()
		if err != nil {
			return nil, err
		}
		return textOf(of)
	default:
		switch r := reflect.ValueOf(v); {
		case r.Kind() == reflect.Pointer && r.IsNil():
			return nil, nil
		case r.Kind() == reflect.Pointer:
			return textOf(r.Elem().Interface())
		case r.Kind() == reflect.String:
			s = r.String()
		case r.Kind() == reflect.Bool:
			s = strconv.FormatBool(r.Bool())
		case r.CanInt():
			s = strconv.FormatInt(r.Int(), 10)
		case r.CanFloat():
			s = strconv.FormatFloat(r.Float(), 'g', -1, 64)
		default:
			return nil, fmt.Errorf("a %T is no element of an array", v)
		}
	}
	return &s, nil
}
