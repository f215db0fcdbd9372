-- +goose Up
-- compatible with: 13

-- In which tier a call was answered, and how much of its input the provider had in its
-- cache: both are billed at prices of their own.
alter table llm_calls
    add column tier          text    not null default 'standard',
    add column cached_tokens integer not null default 0;
