package pg

import (
	"testing"

	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"
)

// TestAnswersOfShards: what a worker of Citus refuses is told as one PostgreSQL would, also where Citus hides the code.
func TestAnswersOfShards(t *testing.T) {
	for _, tt := range []struct {
		code, message string
		want          pqerror.Code
		constraint    string
	}{
		{"23505", `duplicate key value violates unique constraint "memories_one_text_102124"`, "23505", "memories_one_text"},
		{"XX000", `duplicate key value violates unique constraint "leases_pkey_102052"`, "23505", "leases_pkey"},
		{"XX000", `insert or update on table "leases_102052" violates foreign key constraint "leases_group_id_fkey_102052"`, "23503", "leases_group_id_fkey"},
		{"XX000", `new row for relation "memories_7" violates check constraint "memories_strength_7"`, "23514", "memories_strength"},
		{"XX000", `null value in column "lease_name" of relation "leases_102052" violates not-null constraint`, "23502", ""},
		{"XX000", "could not open relation with OID 7", "XX000", ""},
	} {
		got := pq.Error{Code: pqerror.Code(tt.code), Message: tt.message}
		if ofTable(&got); got.Code != tt.want || got.Constraint != tt.constraint {
			t.Errorf("%s: %s of %q, want %s of %q", tt.message, got.Code, got.Constraint, tt.want, tt.constraint)
		}
	}
}
