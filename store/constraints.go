package store

// constraintReasons says, for each constraint that a caller can run into, what it means
// and what to do.
var constraintReasons = map[string]string{
	"memories_one_text":                    "another active memory of that kind already says this; read the group again",
	"memories_one_head":                    "its lineage has an active head already; read the group again",
	"memories_group_id_lineage_id_version": "its lineage got that version in the meantime; read the group again",
	"memories_strength":                    "strength must be within 0..1",
	"memories_weight":                      "weight must be within 0..2",
	"memories_statement":                   "a statement has 1 to 500 characters",
	"memories_embedding":                   "an embedding needs its model, as name@dims",
	"entity_names_account":                 "that account is another entity's already; read the group again",
	"entity_names_once":                    "the entity bears that name already; read the group again",
	"entity_claims_one_text":               "the entity has that claim already; read the group again",
	"entity_claims_one_head":               "that claim has an active version already; read the group again",
	"decisions_group_id_memory_id_fkey":    "a decision names a memory that its plan does not make and the group does not have",
	"decisions_group_id_target_id_fkey":    "a decision acts on a memory that the group does not have",
}
