-- +goose Up

-- What models said in runs, by the hash of the question, before anything is made
-- of it: a run that is continued does not pay twice. Evolve's own answers are in
-- run_chunks.
create table answers (
    group_id     text collate "C" not null,
    run_id       uuid        not null,
    input_sha256 text        not null,
    purpose      text        not null,
    answer       text        not null,
    created_at   timestamptz not null,
    primary key (group_id, run_id, input_sha256),
    foreign key (group_id, run_id) references runs (group_id, run_id)
);

-- Why each new fact was added, merged, or not stored.
create table decisions (
    group_id       text collate "C" not null,
    run_id         uuid        not null,
    chunk_no       integer     not null,
    decision_no    integer     not null,
    kind           text        not null,
    statement      text        not null,
    content_hash   text        not null,
    action         text        not null,
    basis          text        not null,
    target_id      uuid,                 -- the version that it acts on
    memory_id      uuid,                 -- the version that says it now
    planned_id     uuid,                 -- the same, as planned: it may wait for a person
    reason         text        not null default '',
    candidates     jsonb       not null default '[]',
    model          text        not null default '',
    prompt_version text        not null default '',
    prompt_sha256  text        not null default '',
    calls          integer     not null default 0,
    created_at     timestamptz not null,
    primary key (group_id, run_id, chunk_no, decision_no),
    foreign key (group_id, run_id, chunk_no) references run_chunks (group_id, run_id, chunk_no),
    foreign key (group_id, target_id) references memories (group_id, memory_id),
    foreign key (group_id, memory_id) references memories (group_id, memory_id),
    constraint decisions_no check (decision_no >= 1),
    constraint decisions_action check (action in ('ADD', 'UPDATE', 'DELETE+ADD', 'NONE', 'SKIP', 'HOLD')),
    constraint decisions_basis check (basis in ('hash', 'none', 'shown', 'compared', 'fallback'))
);
create index decisions_memory on decisions (group_id, memory_id) where memory_id is not null;
create index decisions_target on decisions (group_id, target_id) where target_id is not null;

-- What befell a version, for whoever asks why a memory says what it says.
create index memory_change_log_memory on memory_change_log (group_id, memory_id);
