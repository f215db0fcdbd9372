-- +goose Up

-- Who may use the API. The empty group is all of them, so that no foreign key leads to
-- groups. Of a token only its hash is kept.
create table api_tokens (
    group_id     text collate "C" not null,
    token_id     text        not null,
    name         text        not null default '',
    scope        text        not null check (scope in ('read', 'write', 'admin')),
    sha256       bytea       not null check (length(sha256) = 32),
    created_at   timestamptz not null,
    expires_at   timestamptz,
    revoked_at   timestamptz,
    last_used_at timestamptz,
    primary key (group_id, token_id)
);
create index api_tokens_id on api_tokens (token_id);

-- Logins to the operator's page, each as good as its token.
create table page_sessions (
    group_id   text collate "C" not null,
    sha256     bytea       not null check (length(sha256) = 32),
    token_id   text        not null,
    created_at timestamptz not null,
    expires_at timestamptz not null,
    primary key (group_id, sha256),
    foreign key (group_id, token_id) references api_tokens (group_id, token_id)
);
create index page_sessions_sha256 on page_sessions (sha256);
create index page_sessions_expires on page_sessions (group_id, expires_at);

-- What waits for a person, and what persons did.
create index held_plans_waiting on held_plans (group_id, run_id) where status = 'waiting';
create index memory_change_log_edits on memory_change_log (group_id, created_at) where run_id is null;
