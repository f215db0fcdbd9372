-- +goose Up
-- compatible with: 14

-- Questions handed in together, which a provider answers within a day. A batch is of no
-- group: it has questions of many. Its id is the key by which it is handed in; provider_id
-- is empty until the provider's reply has come.
create table batches (
    group_id      text collate "C" not null default '' check (group_id = ''),
    batch_id      uuid        not null,
    job           text        not null,
    model         text        not null, -- provider/model
    provider_id   text        not null default '',
    status        text        not null default 'submitting'
        constraint batches_status check (status in ('submitting', 'running', 'cancelling', 'ended', 'expired', 'cancelled', 'failed')),
    questions     integer     not null,
    tokens        integer     not null, -- of the questions, estimated
    answered      integer     not null default 0,
    refused       integer     not null default 0, -- answers without their question's nonce
    failed        integer     not null default 0,
    error         text        not null default '',
    holder        text        not null default '', -- who hands it in
    held_until    timestamptz not null default 'epoch',
    created_at    timestamptz not null,
    ended_at      timestamptz,
    primary key (group_id, batch_id)
);
create index batches_out on batches (group_id, job) where ended_at is null;

-- The questions of runs that wait for a batch. What they say is kept until they are handed
-- in, and the answer until the run has ended.
create table batch_questions (
    group_id     text collate "C" not null,
    question_id  uuid        not null,
    run_id       uuid        not null,
    input_sha256 text        not null,
    nth          integer     not null, -- of those that a run asks word for word alike
    model        text        not null,
    purpose      text        not null,
    batch_id     uuid,                 -- null: in none yet
    status       text        not null default 'waiting'
        constraint batch_questions_status check (status in ('waiting', 'again', 'answered', 'failed', 'erased')),
    tries        integer     not null default 0, -- that have come to nothing
    nonce        text        not null,
    tokens       integer     not null,
    max_tokens   integer     not null,
    system_text  text        not null,
    user_text    text        not null,
    answer       text        not null default '',
    finish       text        not null default '',
    fault        text        not null default '',
    created_at   timestamptz not null,
    primary key (group_id, question_id),
    foreign key (group_id, run_id) references runs (group_id, run_id)
);
create unique index batch_questions_once on batch_questions (group_id, run_id, input_sha256, nth);
create index batch_questions_of on batch_questions (batch_id) where batch_id is not null;

select reverie_reader('reverie_reader');
