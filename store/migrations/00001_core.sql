-- +goose Up

-- group_id leads every primary key, unique index and foreign key, so that the
-- schema can be distributed by it. Indexes that do not lead with it are plain
-- ones, for looking a thing up by its id alone.

-- +goose StatementBegin
do $$ begin -- who may not create it may find it there
    if not exists (select from pg_extension where extname = 'vector') then create extension vector; end if;
end $$;
-- +goose StatementEnd

create table groups (
    group_id   text collate "C" not null,
    name       text        not null default '',
    time_zone  text        not null default '',
    language   text        not null default '',
    paused     boolean     not null default false,
    created_at timestamptz not null default now(),
    primary key (group_id),
    constraint groups_id_length check (octet_length(group_id) between 1 and 200)
);

create table leases (
    group_id   text collate "C" not null,
    lease_name text        not null,
    holder     text        not null default '', -- '' while nobody holds it
    fence      bigint      not null default 0,  -- rises with each holder
    expires_at timestamptz not null,
    primary key (group_id, lease_name),
    foreign key (group_id) references groups (group_id)
);

create table runs (
    group_id       text collate "C" not null,
    run_id         uuid        not null,
    job            text        not null,
    window_since   timestamptz not null,
    window_until   timestamptz not null,
    status         text        not null,
    attempt        integer     not null,
    model          text        not null default '',
    prompt_version text        not null default '',
    prompt_sha256  text        not null default '',
    stats          jsonb       not null default '{}',
    error          text        not null default '',
    started_at     timestamptz not null,
    finished_at    timestamptz,
    primary key (group_id, run_id),
    foreign key (group_id) references groups (group_id),
    constraint runs_status check (status in ('running', 'succeeded', 'held', 'deferred', 'failed', 'rejected')),
    constraint runs_attempt check (attempt >= 1),
    constraint runs_finished check ((status = 'running') = (finished_at is null))
);
create index runs_window on runs (group_id, job, window_since, window_until);
create index runs_started on runs (started_at);
create index runs_id on runs (run_id);

create table run_chunks (
    group_id     text collate "C" not null,
    run_id       uuid        not null,
    chunk_no     integer     not null,
    input_sha256 text        not null default '',
    message_ids  text[]      not null default '{}',
    answer       text        not null default '',
    status       text        not null,
    refusals     jsonb       not null default '[]',
    created_at   timestamptz not null,
    primary key (group_id, run_id, chunk_no),
    foreign key (group_id, run_id) references runs (group_id, run_id),
    constraint run_chunks_no check (chunk_no >= 1),
    constraint run_chunks_status check (status in ('open', 'answered', 'applied', 'held', 'failed'))
);

create table messages (
    group_id   text collate "C" not null,
    message_id text collate "C" not null,
    seq        bigint      generated always as identity, -- order of arrival; breaks ties of sent_at
    author_id  text        not null default '',
    author     text        not null default '',
    role       text        not null,
    text       text        not null,
    sent_at    timestamptz not null,
    session_id text        not null default '',
    reply_to   text        not null default '',
    run_id     uuid,
    outcome    text,
    primary key (group_id, message_id),
    foreign key (group_id) references groups (group_id),
    foreign key (group_id, run_id) references runs (group_id, run_id),
    constraint messages_role check (role in ('user', 'assistant', 'tool')),
    constraint messages_outcome check (outcome in ('cited', 'considered', 'filtered')),
    constraint messages_consumed check ((run_id is null) = (outcome is null))
);
create index messages_pending on messages (group_id, sent_at, seq) where run_id is null and outcome is null;
create index messages_consumed_at on messages (group_id, sent_at, seq) where run_id is not null;
create index messages_run on messages (group_id, run_id) where run_id is not null;

create table memories (
    group_id          text collate "C" not null,
    memory_id         uuid             not null, -- names the version
    lineage_id        uuid             not null,
    parent_id         uuid,
    kind              text             not null,
    session_id        text             not null default '',
    statement         text             not null,
    version           integer          not null,
    status            text             not null,
    tags              text[]           not null default '{}',
    strength          double precision not null,
    weight            double precision not null default 1,
    content_hash      text             not null,
    embedding         vector,                         -- derived: filled later where it could not be had
    embedding_model   text             not null default '', -- name@dims of embedding
    change_summary    text             not null default '',
    run_id            uuid,
    created_at        timestamptz      not null,      -- the lineage's birth
    updated_at        timestamptz      not null,      -- this version's birth
    ended_at          timestamptz,                    -- when this version stopped being active
    last_supported_at timestamptz      not null,
    primary key (group_id, memory_id),
    unique (group_id, lineage_id, version),
    foreign key (group_id) references groups (group_id),
    foreign key (group_id, parent_id) references memories (group_id, memory_id),
    foreign key (group_id, run_id) references runs (group_id, run_id),
    constraint memories_kind check (kind in ('group', 'session', 'dream', 'team')),
    constraint memories_status check (status in ('active', 'deprecated', 'archived', 'held')),
    constraint memories_statement check (statement <> '' and char_length(statement) <= 500),
    constraint memories_version check (version >= 1 and (version = 1) = (parent_id is null)),
    constraint memories_strength check (strength >= 0 and strength <= 1),
    constraint memories_weight check (weight >= 0 and weight <= 2),
    constraint memories_ended check (status <> 'active' or ended_at is null),
    constraint memories_embedding check ((embedding is null) = (embedding_model = '')
        and (embedding is null or embedding_model like '%@' || vector_dims(embedding)))
);
create unique index memories_one_head on memories (group_id, lineage_id) where status = 'active';
create unique index memories_one_text on memories (group_id, kind, content_hash) where status = 'active';
create index memories_id on memories (memory_id);

create table memory_evidence (
    group_id    text collate "C" not null,
    evidence_no bigint      generated always as identity,
    lineage_id  uuid        not null,
    memory_id   uuid        not null, -- the version it supports; of a delete, the one it ended
    message_id  text collate "C" not null,
    author_id   text        not null default '',
    author      text        not null default '',
    quote       text        not null,
    sent_at     timestamptz not null,
    local_date  date        not null, -- in the group's time zone
    action      text        not null,
    run_id      uuid,
    created_at  timestamptz not null,
    primary key (group_id, evidence_no),
    foreign key (group_id, memory_id) references memories (group_id, memory_id),
    foreign key (group_id, run_id) references runs (group_id, run_id),
    constraint memory_evidence_action check (action in ('keep', 'update', 'create', 'delete'))
);
create index memory_evidence_lineage on memory_evidence (group_id, lineage_id, local_date);

create table memory_change_log (
    group_id       text collate "C" not null,
    change_id      uuid        not null,
    run_id         uuid,    -- null for an edit by a person
    chunk_no       integer, -- of the run
    action         text        not null,
    memory_id      uuid        not null, -- the head after the change
    old_id         uuid,                 -- the head before it
    old_statement  text        not null default '',
    new_statement  text        not null default '',
    change_summary text        not null default '',
    version        integer     not null,
    evidence       jsonb       not null default '[]',
    created_at     timestamptz not null,
    primary key (group_id, change_id),
    foreign key (group_id, memory_id) references memories (group_id, memory_id),
    foreign key (group_id, old_id) references memories (group_id, memory_id),
    foreign key (group_id, run_id) references runs (group_id, run_id),
    constraint memory_change_log_action check (action in
        ('update', 'create', 'delete', 'restore', 'archive', 'strength', 'weight', 'undo'))
);
create index memory_change_log_time on memory_change_log (group_id, created_at, change_id);
create index memory_change_log_run on memory_change_log (group_id, run_id, chunk_no) where run_id is not null;

create table held_plans (
    group_id   text collate "C" not null,
    run_id     uuid        not null,
    chunk_no   integer     not null,
    kind       text        not null,               -- of the memories it would create
    plan       jsonb       not null,               -- the steps that wait
    heads      jsonb       not null,               -- the versions they rest on
    whole      boolean     not null default false, -- the chunk's whole plan
    reason     text        not null default '',
    status     text        not null,
    created_at timestamptz not null,
    primary key (group_id, run_id, chunk_no),
    foreign key (group_id, run_id, chunk_no) references run_chunks (group_id, run_id, chunk_no),
    constraint held_plans_status check (status in ('waiting', 'approved', 'rejected'))
);

-- No foreign keys: a dry run has no row in runs, and spend is recorded even
-- when the thing it was for is gone.
create table llm_calls (
    group_id      text collate "C" not null,
    call_id       uuid           not null,
    run_id        uuid,
    purpose       text           not null,
    provider      text           not null,
    model         text           not null,
    input_tokens  integer        not null default 0,
    output_tokens integer        not null default 0,
    cost_usd      numeric(18, 9) not null default 0,
    latency_ms    bigint         not null default 0,
    outcome       text           not null,
    created_at    timestamptz    not null,
    primary key (group_id, call_id)
);
create index llm_calls_time on llm_calls (group_id, created_at);
create index llm_calls_run on llm_calls (group_id, run_id) where run_id is not null;

create table embedding_cache (
    group_id     text collate "C" not null,
    model        text        not null, -- name@dims
    content_hash text        not null,
    embedding    vector      not null,
    created_at   timestamptz not null,
    primary key (group_id, model, content_hash),
    constraint embedding_cache_dims check (model like '%@' || vector_dims(embedding))
);
