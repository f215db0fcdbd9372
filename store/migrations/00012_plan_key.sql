-- +goose Up

-- By this the group's plans are known again that were written to files: they carry sums
-- that nobody can make without it. It leaves the database with no export.
alter table groups add column plan_key uuid not null default gen_random_uuid();
