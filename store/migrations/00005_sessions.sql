-- +goose Up

-- After how long a silence the messages of a group without a session of their own
-- begin a new one: '' is as configured, else a duration such as 45m.
alter table groups add column session_silence text not null default '';

-- Every message belongs to a session: the one its platform names, or one cut by
-- silence. Its tokens are estimated when it arrives; those that came before this
-- have none, wait for no extraction, and belong to a session only if they name it. A message whose text was
-- pruned keeps its row: it was consumed, counts, and is known when it comes again.
alter table messages
    add column tokens    integer not null default 0,
    add column pruned_at timestamptz;
create index messages_session on messages (group_id, session_id, sent_at, seq) where session_id <> '';

-- Every index but that of the key has a condition: whoever looks for ids, foreign
-- keys among them, can take no other, even if it was planned in an empty table,
-- where all cost the same.
drop index messages_author;
create index messages_author on messages (group_id, author, author_id) where author <> '';

-- What a session holds, and what of it waits for extraction. The counts are
-- written with the messages they count.
create table sessions (
    group_id        text collate "C" not null,
    session_id      text collate "C" not null,
    cut             boolean     not null,               -- by silence, and not named by the platform
    first_at        timestamptz not null,               -- sent_at of its messages
    last_at         timestamptz not null,
    asking          boolean     not null default false, -- somebody has spoken since the last answer
    messages        integer     not null default 0,
    tokens          bigint      not null default 0,
    tool_calls      integer     not null default 0,
    turns           integer     not null default 0,     -- that have been answered
    new_messages    integer     not null default 0,     -- the same, of what is not extracted yet
    new_tokens      bigint      not null default 0,
    new_tool_calls  integer     not null default 0,
    new_turns       integer     not null default 0,
    folded_messages integer     not null default 0,     -- the same, of what the rolling summary covers
    folded_tokens   bigint      not null default 0,
    folded_tool_calls integer   not null default 0,
    folded_turns    integer     not null default 0,
    extractions     integer     not null default 0,
    extracted_until timestamptz,                        -- sent_at of the newest message that was extracted
    unfinished      boolean     not null default false, -- the last extraction left some of what it was to take
    failures        integer     not null default 0,     -- of extraction, in a row
    failure         text        not null default '',    -- the last one
    retry_at        timestamptz,                        -- not before, unless a person says so
    parked_at       timestamptz,                        -- set: not until a person says so
    fold_failures   integer     not null default 0,     -- in a row
    fold_retry_at   timestamptz,
    created_at      timestamptz not null,
    updated_at      timestamptz not null,
    primary key (group_id, session_id),
    foreign key (group_id) references groups (group_id),
    constraint sessions_order check (first_at <= last_at),
    constraint sessions_counts check (new_messages between 0 and messages and folded_messages between 0 and messages)
);
create index sessions_last on sessions (group_id, last_at);
create index sessions_id on sessions (session_id);

-- What is due is found by what makes it so, however many others wait.
create index sessions_waiting on sessions (group_id, last_at) where new_messages > 0;
create index sessions_tokens on sessions (group_id, new_tokens) where new_messages > 0;
create index sessions_tool_calls on sessions (group_id, new_tool_calls) where new_tool_calls > 0;
create index sessions_turns on sessions (group_id, new_turns) where new_turns > 0;
create index sessions_unfinished on sessions (group_id) where unfinished;
create index sessions_failed on sessions (group_id) where failures > 0 or fold_failures > 0;

insert into sessions (group_id, session_id, cut, first_at, last_at, asking, messages, tool_calls, turns, created_at, updated_at)
select group_id, session_id, false, min(sent_at), max(sent_at), coalesce((array_agg(role order by sent_at desc, seq desc) filter (where role <> 'tool'))[1] = 'user', false),
    count(*), count(*) filter (where role = 'tool'), count(*) filter (where role = 'assistant' and before = 'user'), now(), now()
from (select *, lag(role) over (partition by group_id, session_id, role = 'tool' order by sent_at, seq) as before
    from messages where session_id <> '') m
group by group_id, session_id;

-- What extraction takes is chosen by session. The same table says which messages a
-- rolling summary covers (job summarize): those rows are written with their run.
alter table message_uses add column session_id text collate "C" not null default '';
create index message_uses_session on message_uses (group_id, job, session_id, sent_at) where run_id is null and session_id <> '';
drop index message_uses_waiting;
create index message_uses_waiting on message_uses (group_id, job, sent_at) where run_id is null and session_id = '';

-- A run of one session.
alter table runs add column session_id text collate "C" not null default '';
create index runs_session on runs (group_id, session_id) where session_id <> '';

-- What is remembered of a session.
create index memories_session on memories (group_id, session_id) where status = 'active' and session_id <> '';

-- Short-term memory: what the older turns of a session were about, renewed as it
-- goes on, and which messages that covers.
create table session_summaries (
    group_id         text collate "C" not null,
    session_id       text collate "C" not null,
    summary          text        not null,
    messages         integer     not null,
    turns            integer     not null,
    tokens           bigint      not null, -- of the messages
    first_message_id text        not null,
    last_message_id  text        not null,
    covers_since     timestamptz not null, -- sent_at of those two
    covers_until     timestamptz not null,
    run_id           uuid        not null, -- that renewed it last
    created_at       timestamptz not null,
    updated_at       timestamptz not null,
    primary key (group_id, session_id),
    foreign key (group_id, session_id) references sessions (group_id, session_id),
    foreign key (group_id, run_id) references runs (group_id, run_id),
    constraint session_summaries_text check (summary <> '' and messages >= 1)
);

-- Which memories were offered to a reader, and whether its answer used them.
create table memory_usage_log (
    group_id        text collate "C" not null,
    usage_id        uuid        not null, -- one context
    memory_id       uuid        not null, -- the version that was offered
    lineage_id      uuid        not null,
    session_id      text collate "C" not null default '',
    query           text        not null default '', -- its beginning
    position        integer     not null,            -- from 1, best first
    score           double precision not null,       -- similarity x weight x strength x recency
    similarity      double precision not null,
    weight          double precision not null,
    strength        double precision not null,
    recency         double precision not null,
    was_referenced  boolean,                         -- null until the answer is known
    reference_score double precision,
    weight_after    double precision,
    created_at      timestamptz not null,
    judged_at       timestamptz,
    primary key (group_id, usage_id, memory_id),
    constraint memory_usage_log_judged check ((was_referenced is null) = (judged_at is null))
);
create index memory_usage_log_session on memory_usage_log (group_id, session_id, created_at desc) where session_id <> '';
create index memory_usage_log_lineage on memory_usage_log (group_id, lineage_id, created_at);
create index memory_usage_log_time on memory_usage_log (group_id, created_at);
create index memory_usage_log_usage on memory_usage_log (usage_id);

-- What the rows of the usage log that were pruned had said.
create table memory_usage_totals (
    group_id        text collate "C" not null,
    lineage_id      uuid        not null,
    offered         bigint      not null default 0,
    referenced      bigint      not null default 0,
    ignored         bigint      not null default 0,
    last_offered_at timestamptz not null,
    primary key (group_id, lineage_id)
);

-- Up to when strength has been lowered for want of support; null: not since the
-- last support.
alter table memories add column decayed_at timestamptz;
