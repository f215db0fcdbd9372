package pg

import (
	"context"
	"database/sql/driver"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/pgvector/pgvector-go"
)

// Vector is an embedding in pgvector's binary format, which is fifty times cheaper than text.
type Vector []float32

// Value returns the vector in binary; an empty one is NULL.
func (v Vector) Value() (driver.Value, error) {
	if len(v) == 0 {
		return nil, nil
	}
	return pgvector.NewVector(v).EncodeBinary(nil)
}

// Scan reads the result of vector_send. It checks the length, because decoding a short value would panic.
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

// VectorArray is a vector[] in PostgreSQL's binary array format, which contains the OID of the element type. That OID
// differs between databases. Empty vectors are NULL elements.
type VectorArray struct {
	OID     uint32
	Vectors [][]float32
}

// Value encodes the array: the number of dimensions, the null flag, the element type, length and lower bound of its one
// dimension, then each element with its length.
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

// Vectors makes the argument of a statement. It asks once for the OID.
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
