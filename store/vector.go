package store

import (
	"context"
	"database/sql/driver"
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/pgvector/pgvector-go"

	"reverie/internal/reverie"
)

// vector is an embedding on its way to and from the database, in the binary
// format of pgvector: as text it costs fifty times as much.
type vector []float32

// Value sends the vector in binary; an empty one is NULL.
func (v vector) Value() (driver.Value, error) {
	if len(v) == 0 {
		return nil, nil
	}
	return pgvector.NewVector(v).EncodeBinary(nil)
}

// Scan reads what vector_send returns. It checks the length itself, because
// decoding a short value panics.
func (v *vector) Scan(src any) error {
	if src == nil {
		*v = nil
		return nil
	}
	b, ok := src.([]byte)
	if !ok || len(b) < 4 || len(b) != 4+4*int(binary.BigEndian.Uint16(b)) {
		return fmt.Errorf("read a vector: %T of unexpected length; select vector_send(embedding)", src)
	}
	var pv pgvector.Vector
	if err := pv.DecodeBinary(b); err != nil {
		return fmt.Errorf("read a vector: %w", err)
	}
	*v = pv.Slice()
	return nil
}

// vectorArray is a vector[] in PostgreSQL's binary array format, which names the
// element type by an OID that differs from database to database. Empty vectors
// are NULL elements.
type vectorArray struct {
	oid     uint32
	vectors [][]float32
}

// Value encodes the array: dimensions, null flag, element type, then for its one
// dimension length and lower bound, then each element with its length.
func (a vectorArray) Value() (driver.Value, error) {
	size := 20
	for _, v := range a.vectors {
		size += 8 + 4*len(v)
	}
	b := make([]byte, 0, size)
	if len(a.vectors) == 0 {
		b = binary.BigEndian.AppendUint32(b, 0)
		b = binary.BigEndian.AppendUint32(b, 0)
		return binary.BigEndian.AppendUint32(b, a.oid), nil
	}
	hasNull := uint32(0)
	for _, v := range a.vectors {
		if len(v) == 0 {
			hasNull = 1
		}
	}
	for _, x := range []uint32{1, hasNull, a.oid, uint32(len(a.vectors)), 1} {
		b = binary.BigEndian.AppendUint32(b, x)
	}
	for _, v := range a.vectors {
		if len(v) == 0 {
			b = binary.BigEndian.AppendUint32(b, math.MaxUint32) // length -1: NULL
			continue
		}
		b = binary.BigEndian.AppendUint32(b, uint32(4+4*len(v)))
		var err error
		if b, err = pgvector.NewVector(v).EncodeBinary(b); err != nil {
			return nil, fmt.Errorf("encode a vector: %w", err)
		}
	}
	return b, nil
}

// vectors makes the array that a statement takes, asking once for the OID.
func (s *Store) vectors(ctx context.Context, t *tx, vs [][]float32) (vectorArray, error) {
	oid := s.vectorOID.Load()
	if oid == 0 {
		if err := t.get(ctx, &oid, `select 'vector'::regtype::oid::bigint`); err != nil {
			return vectorArray{}, fmt.Errorf("look up the vector type: %w", err)
		}
		s.vectorOID.Store(oid)
	}
	return vectorArray{oid: oid, vectors: vs}, nil
}

// checkVector refuses a vector that has no meaningful cosine, or whose width is
// not the one that its model@dims names.
func checkVector(model string, v []float32) error {
	if err := reverie.CheckVector(v); err != nil {
		return err
	}
	if !strings.HasSuffix(model, fmt.Sprintf("@%d", len(v))) {
		return fmt.Errorf("embedding of width %d does not fit model %q, which must be name@dims: %w", len(v), model, reverie.ErrInvalid)
	}
	return nil
}
