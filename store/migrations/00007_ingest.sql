-- +goose Up

-- Why a message that came in is shown to no model; '' is that it may be. It is
-- filtered from its arrival on: no run consumes it, and no session has it.
alter table messages
    add column filter text not null default '',
    drop constraint messages_consumed,
    add constraint messages_consumed check (case when filter = '' then (run_id is null) = (outcome is null)
        else run_id is null and outcome = 'filtered' end);
create index messages_filtered on messages (group_id, sent_at, seq) where filter <> '';

-- How far a chat has been pulled from a server that hands it over.
create table pulls (
    group_id   text collate "C" not null,
    source     text not null,              -- the server's URL, without its secrets
    chat_id    text not null,              -- as the server calls it
    since      timestamptz,                -- from here on is asked for next time; null: from the beginning
    messages   bigint      not null default 0,
    error      text        not null default '', -- of the last pull, '' where it succeeded
    pulled_at  timestamptz not null,
    primary key (group_id, source, chat_id),
    foreign key (group_id) references groups (group_id)
);
