-- +goose Up

-- When a group dreams, where it says so for itself: '' is as configured, off is
-- never, else a duration such as 12h, or a number of sessions.
alter table groups
    add column dream_idle     text not null default '',
    add column dream_sessions text not null default '',
    add column dream_interval text not null default '';

-- Up to which of its messages a session has been dreamt of. It is fresh while that
-- is not its last: messages that come in make it so, and so does its extraction.
alter table sessions add column dreamt_until timestamptz;
create index sessions_fresh on sessions (group_id, last_at) where dreamt_until is null or dreamt_until < last_at;

-- Which memory versions a job has taken in, each once, whether anything came of
-- them or not. What has no row is new to it, however old it is.
create table memory_uses (
    group_id  text collate "C" not null,
    job       text not null,
    memory_id uuid not null, -- the version
    run_id    uuid not null,
    primary key (group_id, job, memory_id),
    foreign key (group_id, memory_id) references memories (group_id, memory_id),
    foreign key (group_id, run_id) references runs (group_id, run_id)
);
create index memory_uses_run on memory_uses (group_id, run_id);

-- Which other memories a version rests on, besides its messages.
create table memory_sources (
    group_id          text collate "C" not null,
    memory_id         uuid    not null, -- the version
    position          integer not null, -- from 1, as it was given
    source_id         uuid    not null, -- the version that it rests on
    source_lineage_id uuid    not null,
    run_id            uuid    not null,
    primary key (group_id, memory_id, source_id),
    foreign key (group_id, memory_id) references memories (group_id, memory_id),
    foreign key (group_id, source_id) references memories (group_id, memory_id),
    foreign key (group_id, run_id) references runs (group_id, run_id),
    constraint memory_sources_other check (source_id <> memory_id and position >= 1)
);
create index memory_sources_lineage on memory_sources (group_id, source_lineage_id);

-- A chunk may be about memories, not messages: in several questions, each of so many
-- of them, in their order.
alter table run_chunks
    add column memory_ids uuid[] not null default '{}',
    add column questions integer[] not null default '{}';

-- The last dream of a group.
create index runs_dreams on runs (group_id, started_at) where job = 'dream';
