-- +goose Up

-- The day of a group ends at this local time: 00:00 is midnight, 04:00 counts
-- the small hours to the day before.
alter table groups
    add column day_boundary text not null default '00:00',
    add constraint groups_day_boundary check (day_boundary ~ '^([01][0-9]|2[0-3]):[0-5][0-9]$');

-- Zones and boundaries that a group had before, each up to an instant: the
-- nights that lie before it stay what they were.
create table past_calendars (
    group_id     text collate "C" not null,
    valid_until  timestamptz not null, -- exclusive; the end of a date
    time_zone    text        not null,
    day_boundary text        not null,
    primary key (group_id, valid_until),
    foreign key (group_id) references groups (group_id)
);

-- What repeated failure has led to, for a group and a job. No row: none.
create table setbacks (
    group_id   text collate "C" not null,
    job        text        not null,
    failures   integer     not null,            -- in a row
    error      text        not null default '', -- of the last one
    retry_at   timestamptz not null,            -- not before, unless a person says so
    parked_at  timestamptz,                     -- not until a person says so
    updated_at timestamptz not null,
    primary key (group_id, job),
    foreign key (group_id) references groups (group_id),
    constraint setbacks_failures check (failures >= 1)
);

-- A run whose work was taken back: its evidence supports nothing any more.
alter table runs add column undone_at timestamptz;

-- Such evidence stays for the record. What counts dates of support leaves it out,
-- and the index is no larger for it.
alter table memory_evidence add column withdrawn_at timestamptz;
drop index memory_evidence_lineage;
create index memory_evidence_lineage on memory_evidence (group_id, lineage_id, local_date) where withdrawn_at is null;

-- The strength that a person set, which later support builds on. The summary
-- rounds it, and is all that older rows have.
alter table memory_change_log add column strength double precision;
update memory_change_log set strength = substring(change_summary from '^strength [0-9.]+ -> ([0-9.]+)')::float8
    where action = 'strength';

-- What was spent today, over all groups.
create index llm_calls_created on llm_calls (created_at);

-- What answers of a model were like, for estimates.
create index llm_calls_output on llm_calls (purpose, model, created_at) where outcome = 'ok';

-- The newest run of each group.
create index runs_time on runs (group_id, started_at, run_id);

-- What runs now, or was running when its process died.
create index runs_running on runs (group_id, job) where status = 'running';
