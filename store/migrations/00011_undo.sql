-- +goose Up

-- Of a change that takes a run back, which run that is. Such changes have no run of
-- their own.
alter table memory_change_log add column undone_run_id uuid;
create index memory_change_log_undone on memory_change_log (group_id, undone_run_id) where undone_run_id is not null;

-- Which memories rest on a message, where another one that rested on it has changed.
create index memory_evidence_message on memory_evidence (group_id, message_id) where withdrawn_at is null;

-- What is known of people and things can be taken back, too: an entity that a run made
-- is withdrawn with it.
alter table entities
    drop constraint entities_status,
    add constraint entities_status check (status in ('active', 'merged', 'withdrawn'));
alter table entity_change_log
    add column undone_run_id uuid,
    drop constraint entity_change_log_action,
    add constraint entity_change_log_action check (action in ('create', 'name', 'claim', 'replace', 'merge', 'unmerge', 'withdraw', 'undo'));

-- Of a memory that waits to be judged again because another one changed: which change
-- that was. What it said is read there, so that nothing of it stands here.
alter table rejudgements add column change_id uuid;

-- What a version's strength, weight and support were until they were changed in place:
-- by support, by time, by use, or by a person. It is what tells how a group was at an
-- instant; a change that is older than this table is known to nobody.
create table memory_values (
    group_id          text collate "C" not null,
    value_no          bigint           generated always as identity,
    memory_id         uuid             not null, -- the version
    run_id            uuid,                      -- that changed them; null for a person, or use
    valid_until       timestamptz      not null, -- when they were changed
    strength          double precision not null,
    weight            double precision not null,
    last_supported_at timestamptz      not null,
    decayed_at        timestamptz,
    primary key (group_id, value_no),
    foreign key (group_id, memory_id) references memories (group_id, memory_id)
);
create index memory_values_version on memory_values (group_id, memory_id, valid_until);
create index memory_values_time on memory_values (group_id, valid_until);
create index memory_values_run on memory_values (group_id, run_id) where run_id is not null;

-- What a row of rejudgements was until it was written anew, or deleted.
create table past_rejudgements (
    group_id    text collate "C" not null,
    past_no     bigint      generated always as identity,
    lineage_id  uuid        not null,
    memory_id   uuid        not null,
    reason      text        not null,
    created_at  timestamptz not null,
    change_id   uuid,
    run_id      uuid,
    held        boolean     not null,
    valid_until timestamptz not null,
    primary key (group_id, past_no),
    foreign key (group_id, memory_id) references memories (group_id, memory_id)
);
create index past_rejudgements_lineage on past_rejudgements (group_id, lineage_id, valid_until);

-- The tables that are new are read like the others.
select reverie_reader('reverie_reader');
