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
