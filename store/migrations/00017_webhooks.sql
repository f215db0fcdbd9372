-- +goose Up
-- compatible with: 14

-- Who is told of changes, of one group or, where group_id is '', of all. The secret signs
-- what is sent, so that it is kept as it is: neither the reader (below) nor an export sees it.
create table webhooks (
    group_id      text collate "C" not null,
    webhook_id    uuid        not null,
    url           text        not null,
    secret        text        not null,
    events        text[]      not null, -- types; {} = all
    statements    boolean     not null, -- bodies repeat what memories say
    created_at    timestamptz not null,
    failures      integer     not null default 0, -- in a row
    failing_since timestamptz,
    retry_at      timestamptz not null default 'epoch',
    last_error    text        not null default '',
    disabled_at   timestamptz,
    primary key (group_id, webhook_id)
);

-- What is to be sent, and what was, for as long as it can be sent again. It holds ids: what a
-- body says is read when it is sent. The events of one group for one webhook go in the order of event_no.
create table webhook_events (
    group_id   text collate "C" not null,
    event_id   uuid        not null default gen_random_uuid(),
    event_no   bigint generated always as identity,
    webhook_id uuid        not null,
    type       text        not null,
    memory_id  uuid,
    lineage_id uuid,
    run_id     uuid,
    detail     text        not null default '', -- the action of a change, the verdict of a review
    created_at timestamptz not null,
    queued_at  timestamptz, -- null: when it was made; else it is sent once more
    attempts   integer     not null default 0,
    due_at     timestamptz not null default 'epoch', -- not before: it is being sent, or has failed
    done_at    timestamptz,
    error      text        not null default '', -- of the last attempt; of one that is done: it was given up
    primary key (group_id, event_id)
);
create index webhook_events_waiting on webhook_events (webhook_id, group_id, event_no) where done_at is null;
create index webhook_events_time on webhook_events (created_at);

-- The reader sees none of them, whatever groups it names, since without naming any it sees nothing.
create policy unread on webhooks as restrictive for select
    using (coalesce(current_setting('reverie.groups', true), '') = '');
select reverie_reader('reverie_reader');
