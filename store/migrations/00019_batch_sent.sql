-- +goose Up
-- compatible with: 18

-- When a batch last was on its way to the provider, which may list it only later.
alter table batches add column sent_at timestamptz not null default 'epoch';
update batches set sent_at = created_at;
