-- +goose Up

-- Whether people and things are followed in a group: '' is as configured.
alter table groups
    add column impressions text not null default '',
    add constraint groups_impressions check (impressions in ('', 'on', 'off'));

-- Messages that a job other than evolve uses: those without a run wait for it.
create table message_uses (
    group_id   text collate "C" not null,
    job        text        not null,
    message_id text collate "C" not null,
    sent_at    timestamptz not null, -- of the message
    run_id     uuid,
    primary key (group_id, job, message_id),
    foreign key (group_id, message_id) references messages (group_id, message_id),
    foreign key (group_id, run_id) references runs (group_id, run_id)
);
create index message_uses_waiting on message_uses (group_id, job, sent_at) where run_id is null;
create index message_uses_run on message_uses (group_id, run_id) where run_id is not null;

-- Which accounts have gone by a name.
create index messages_author on messages (group_id, author, author_id);

create table entities (
    group_id    text collate "C" not null,
    entity_id   uuid        not null,
    kind        text        not null,
    subject     text        not null,
    status      text        not null default 'active',
    merged_into uuid,
    version     integer     not null default 1, -- rises with each change of it, its names or its claims
    run_id      uuid,
    created_at  timestamptz not null,
    updated_at  timestamptz not null,
    primary key (group_id, entity_id),
    foreign key (group_id) references groups (group_id),
    foreign key (group_id, merged_into) references entities (group_id, entity_id),
    foreign key (group_id, run_id) references runs (group_id, run_id),
    constraint entities_kind check (kind in ('person', 'bot', 'thing')),
    constraint entities_subject check (subject <> '' and char_length(subject) <= 80),
    constraint entities_status check (status in ('active', 'merged')),
    constraint entities_merged check ((status = 'merged') = (merged_into is not null) and merged_into <> entity_id)
);
create index entities_id on entities (entity_id);
create index entities_merged on entities (group_id, merged_into) where merged_into is not null;

-- The identity index. An account belongs to one entity; a name may belong to
-- several.
create table entity_names (
    group_id   text collate "C" not null,
    name_id    uuid        not null,
    entity_id  uuid        not null,
    kind       text        not null,
    name       text        not null,
    name_key   text        not null,
    run_id     uuid,
    created_at timestamptz not null,
    ended_at   timestamptz,
    primary key (group_id, name_id),
    foreign key (group_id, entity_id) references entities (group_id, entity_id),
    foreign key (group_id, run_id) references runs (group_id, run_id),
    constraint entity_names_kind check (kind in ('id', 'subject', 'alias')),
    constraint entity_names_name check (name <> '' and name_key <> '')
);
create unique index entity_names_once on entity_names (group_id, entity_id, name_key) where ended_at is null and kind <> 'id';
create unique index entity_names_account on entity_names (group_id, name_key) where ended_at is null and kind = 'id';
create index entity_names_entity on entity_names (group_id, entity_id) where ended_at is null;

-- Versions of what is said of entities: impressions, features, relations.
create table entity_claims (
    group_id          text collate "C" not null,
    claim_id          uuid             not null, -- names the version
    lineage_id        uuid             not null,
    parent_id         uuid,
    version           integer          not null,
    entity_id         uuid             not null,
    aspect            text             not null,
    name              text             not null default '', -- a feature's key, a relation's kind
    name_key          text             not null default '',
    value             text             not null,            -- the text, the value, the target as it was named
    target_id         uuid,                                 -- of a relation
    self              boolean          not null,            -- the person's own words
    content_hash      text             not null,
    confidence        double precision not null,
    strength          double precision not null,
    status            text             not null,
    run_id            uuid,
    created_at        timestamptz      not null, -- the lineage's birth
    updated_at        timestamptz      not null, -- this version's birth
    ended_at          timestamptz,
    last_supported_at timestamptz      not null,
    primary key (group_id, claim_id),
    unique (group_id, lineage_id, version),
    foreign key (group_id, entity_id) references entities (group_id, entity_id),
    foreign key (group_id, target_id) references entities (group_id, entity_id),
    foreign key (group_id, parent_id) references entity_claims (group_id, claim_id),
    foreign key (group_id, run_id) references runs (group_id, run_id),
    constraint entity_claims_aspect check (aspect in ('impression', 'feature', 'relation')),
    constraint entity_claims_status check (status in ('active', 'deprecated')),
    constraint entity_claims_value check (value <> '' and char_length(value) <= 200 and char_length(name) <= 80),
    constraint entity_claims_name check ((aspect = 'impression') = (name = '')),
    constraint entity_claims_target check ((aspect = 'relation') = (target_id is not null)),
    constraint entity_claims_version check (version >= 1 and (version = 1) = (parent_id is null)),
    constraint entity_claims_confidence check (confidence >= 0 and confidence <= 1),
    constraint entity_claims_strength check (strength >= 0 and strength <= 1),
    constraint entity_claims_ended check ((status = 'active') = (ended_at is null))
);
create unique index entity_claims_one_head on entity_claims (group_id, lineage_id) where status = 'active';
create unique index entity_claims_one_text on entity_claims (group_id, entity_id, aspect, name_key, self, content_hash) where status = 'active';

create table entity_evidence (
    group_id     text collate "C" not null,
    evidence_no  bigint      generated always as identity,
    entity_id    uuid        not null,
    lineage_id   uuid        not null,
    claim_id     uuid        not null, -- the version it supports
    message_id   text collate "C" not null,
    author_id    text        not null default '',
    author       text        not null default '',
    quote        text        not null,
    sent_at      timestamptz not null,
    local_date   date        not null, -- in the group's time zone
    run_id       uuid,
    created_at   timestamptz not null,
    withdrawn_at timestamptz,
    primary key (group_id, evidence_no),
    foreign key (group_id, claim_id) references entity_claims (group_id, claim_id),
    foreign key (group_id, run_id) references runs (group_id, run_id)
);
create index entity_evidence_lineage on entity_evidence (group_id, lineage_id, local_date) where withdrawn_at is null;

create table entity_change_log (
    group_id      text collate "C" not null,
    change_id     uuid        not null,
    run_id        uuid,    -- null for a person's
    chunk_no      integer, -- of the run
    entity_id     uuid        not null,
    action        text        not null,
    other_id      uuid,    -- the entity merged into, or out of
    claim_id      uuid,
    old_text      text        not null default '',
    new_text      text        not null default '',
    change_reason text        not null default '',
    evidence      jsonb       not null default '[]',
    created_at    timestamptz not null,
    primary key (group_id, change_id),
    foreign key (group_id, entity_id) references entities (group_id, entity_id),
    foreign key (group_id, run_id) references runs (group_id, run_id),
    constraint entity_change_log_action check (action in ('create', 'name', 'claim', 'replace', 'merge', 'unmerge', 'withdraw'))
);
create index entity_change_log_entity on entity_change_log (group_id, entity_id, created_at);
create index entity_change_log_run on entity_change_log (group_id, run_id) where run_id is not null;

-- Observations that wait to be sure whom they are about.
create table entity_observations (
    group_id       text collate "C" not null,
    observation_id uuid        not null,
    subject        text        not null,
    body           jsonb       not null,
    reason         text        not null, -- why it waits
    status         text        not null,
    run_id         uuid        not null, -- that observed it
    settled_by     uuid,                 -- the run that joined it, or let it expire
    last_at        timestamptz not null, -- sent_at of its newest evidence
    expires_at     timestamptz not null,
    created_at     timestamptz not null,
    primary key (group_id, observation_id),
    foreign key (group_id, run_id) references runs (group_id, run_id),
    foreign key (group_id, settled_by) references runs (group_id, run_id),
    constraint entity_observations_reason check (reason in ('ambiguous', 'insufficient')),
    constraint entity_observations_status check (status in ('waiting', 'joined', 'continued', 'expired')),
    constraint entity_observations_settled check ((status = 'waiting') = (settled_by is null))
);
create index entity_observations_waiting on entity_observations (group_id, created_at) where status = 'waiting';
