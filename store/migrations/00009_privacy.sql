-- +goose Up

-- Which team a group belongs to: '' is as configured, off is none. A team's memories have
-- a tenant of their own, team:NAME.
alter table groups add column team text not null default '';

-- What this database is called among those that share a team's memories. The empty group
-- is all of them.
create table deployments (
    group_id      text collate "C" not null default '' check (group_id = ''),
    deployment_id uuid        not null,
    created_at    timestamptz not null,
    primary key (group_id)
);
insert into deployments (deployment_id, created_at) values (gen_random_uuid(), now());

-- Where a version of a team's memory comes from: a version of a group's memory here, or
-- what another deployment has sent.
create table memory_origins (
    group_id          text collate "C" not null,
    memory_id         uuid        not null, -- the version
    deployment        text        not null, -- its name or id
    origin_memory_id  uuid        not null, -- the version there
    origin_lineage_id uuid        not null,
    origin_group_id   text collate "C" not null default '', -- '' where it was sent by another deployment
    body              jsonb       not null, -- reverie.Origin
    versions          jsonb       not null default '[]', -- []reverie.TeamVersion: those before it that were made elsewhere
    created_at        timestamptz not null,
    primary key (group_id, memory_id),
    foreign key (group_id, memory_id) references memories (group_id, memory_id)
);
create index memory_origins_lineage on memory_origins (group_id, origin_lineage_id);

-- The common version of a memory and of another deployment's, for each that it is synced
-- with.
create table team_links (
    group_id     text collate "C" not null,
    remote       text        not null, -- its URL, without secrets
    lineage_id   uuid        not null, -- the same on both sides
    local_id     uuid        not null, -- the version here that was common last
    remote_id    uuid        not null, -- and what it is called there
    body_sha256  text        not null, -- of what both said
    synced_at    timestamptz not null,
    primary key (group_id, remote, lineage_id),
    foreign key (group_id, local_id) references memories (group_id, memory_id)
);

-- What both sides have changed since: theirs, beside ours, until a person decides.
create table team_conflicts (
    group_id    text collate "C" not null,
    conflict_id uuid        not null,
    remote      text        not null,
    lineage_id  uuid        not null,
    local_id    uuid        not null, -- our head when it was found
    remote_id   uuid        not null, -- theirs
    theirs      jsonb       not null, -- reverie.TeamMemory
    status      text        not null,
    resolution  text        not null default '',
    created_at  timestamptz not null,
    settled_at  timestamptz,
    primary key (group_id, conflict_id),
    constraint team_conflicts_status check (status in ('open', 'settled')),
    constraint team_conflicts_settled check ((status = 'settled') = (settled_at is not null))
);
create unique index team_conflicts_open on team_conflicts (group_id, remote, lineage_id) where status = 'open';

-- Writes to a team's memories that were asked for under a key, so that a repeated one
-- gets the same answer.
create table team_requests (
    group_id   text collate "C" not null,
    request_key text       not null,
    body_sha256 text       not null,
    lineage_id uuid        not null,
    answer     jsonb       not null, -- reverie.TeamMemory
    created_at timestamptz not null,
    primary key (group_id, request_key)
);
create index team_requests_time on team_requests (group_id, created_at);

-- Memories that are shown to the model first in the next run, with the reason, because
-- what they rest on has changed or gone. A row stays when a run has judged, so that
-- taking the run back queues the memory anew, and never lets it say unjudged what it said.
create table rejudgements (
    group_id   text collate "C" not null,
    lineage_id uuid        not null,
    memory_id  uuid        not null, -- the head when it was queued
    reason     text        not null,
    created_at timestamptz not null,
    run_id     uuid,                           -- that judged it; null while it waits
    held       boolean     not null default false, -- its head was held until then
    primary key (group_id, lineage_id),
    foreign key (group_id, memory_id) references memories (group_id, memory_id),
    foreign key (group_id, run_id) references runs (group_id, run_id)
);
create index rejudgements_waiting on rejudgements (group_id) where run_id is null;

-- What was erased, without a word of it: counts per table.
create table erasures (
    group_id   text collate "C" not null,
    erasure_id uuid        not null,
    counts     jsonb       not null, -- reverie.ErasureCounts
    created_at timestamptz not null,
    primary key (group_id, erasure_id),
    foreign key (group_id) references groups (group_id)
);

-- Messages that may not come in again: the hash of an id, since an id can name its author.
create table erased_messages (
    group_id       text collate "C" not null,
    message_sha256 bytea       not null check (length(message_sha256) = 32),
    erasure_id     uuid        not null,
    primary key (group_id, message_sha256),
    foreign key (group_id, erasure_id) references erasures (group_id, erasure_id)
);

-- Memories that are gone, versions and lineages: an export that holds them does not bring
-- them back.
create table erased_memories (
    group_id   text collate "C" not null,
    id         uuid not null,
    erasure_id uuid not null,
    primary key (group_id, id),
    foreign key (group_id, erasure_id) references erasures (group_id, erasure_id)
);

-- Where a message is deleted, its uses are looked for by it.
alter table message_uses drop constraint message_uses_pkey, add primary key (group_id, message_id, job);
