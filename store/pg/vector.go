package pg

import (
	"context"
	"database/sql/driver"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/pgvector/pgvector-go"
)

// Vector is an embedding on its way to and from the database, in the binary
// format of pgvector: as text it costs fifty times as much.
type Vector []float32

// Value sends the vector in binary; an empty one is NULL.
func (v Vector) Value() (driver.Value, error) {
	if len(v) == 0 {
		return nil, nil
	}
	return pgvector.NewVector(v).EncodeBinary(nil)
}

// Scan reads what vector_send returns. It checks the length itself, because
// decoding a short value panics.
func (v *Vector) Scan(src any) error {
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

// VectorArray is a vector[] in PostgreSQL's binary array format, which names the
// element type by an OID that differs from database to database. Empty vectors
// are NULL elements.
type VectorArray struct {
	OID     uint32
	Vectors [][]float32
}

// Value encodes the array: dimensions, null flag, element type, then for its one
// dimension length and lower bound, then each element with its length.
func (a VectorArray) Value() (driver.Value, error) {
	size := 20
	for _, v := range a.Vectors {
		size += 8 + 4*len(v)
	}
	b := make([]byte, 0, size)
	if len(a.Vectors) == 0 {
		b = binary.BigEndian.AppendUint32(b, 0)
		b = binary.BigEndian.AppendUint32(b, 0)
		return binary.BigEndian.AppendUint32(b, a.OID), nil
	}
	hasNull := uint32(0)
	for _, v := range a.Vectors {
		if len(v) == 0 {
			hasNull = 1
		}
	}
	for _, x := range []uint32{1, hasNull, a.OID, uint32(len(a.Vectors)), 1} {
		b = binary.BigEndian.AppendUint32(b, x)
	}
	for _, v := range a.Vectors {
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

// Vectors makes the array that a statement takes, asking once for the OID.
func (t *Tx) Vectors(ctx context.Context, vs [][]float32) (VectorArray, error) {
	oid := t.db.vectorOID.Load()
	if oid == 0 {
		if err := t.Get(ctx, &oid, `select 'vector'::regtype::oid::bigint`); err != nil {
			return VectorArray{}, fmt.Errorf("look up the vector type: %w", err)
		}
		t.db.vectorOID.Store(oid)
	}
	return VectorArray{OID: oid, Vectors: vs}, nil
}
