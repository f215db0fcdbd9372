-- +goose Up

-- Words are looked up together with the group that said them.
create extension if not exists btree_gin;

-- What a text is found by: its words, English ones by their stem. Scripts that put no
-- space between words are found by each character and by each pair of neighbours. Both
-- sides of a comparison go through this function, so that they fold alike.
-- +goose StatementBegin
create function reverie_words(said text) returns tsvector language plpgsql immutable strict parallel safe as $$
declare
    folded text := left(said, 8000);
begin
    if octet_length(folded) > length(folded) then
        folded := normalize(folded, NFKC);
        if folded ~ '[⺀-⿿ぁ-ヿ㐀-鿿가-힣豈-﫿𠀀-𿿽]' then
            folded := regexp_replace(folded, '([⺀-⿿ぁ-ヿ㐀-鿿가-힣豈-﫿𠀀-𿿽])', ' \1 ', 'g')
                || ' ' || regexp_replace(folded, '([⺀-⿿ぁ-ヿ㐀-鿿가-힣豈-﫿𠀀-𿿽])([⺀-⿿ぁ-ヿ㐀-鿿가-힣豈-﫿𠀀-𿿽])', ' \1\2 ', 'g')
                || ' ' || regexp_replace(
                    regexp_replace(folded, '(^|[^⺀-⿿ぁ-ヿ㐀-鿿가-힣豈-﫿𠀀-𿿽])[⺀-⿿ぁ-ヿ㐀-鿿가-힣豈-﫿𠀀-𿿽]', '\1 ', 'g'),
                    '([⺀-⿿ぁ-ヿ㐀-鿿가-힣豈-﫿𠀀-𿿽])([⺀-⿿ぁ-ヿ㐀-鿿가-힣豈-﫿𠀀-𿿽])', ' \1\2 ', 'g');
        end if;
    end if;
    return strip(to_tsvector('pg_catalog.english', replace(folded, '/', ' ')));
end $$;
-- +goose StatementEnd

-- What kind of thing a memory says: it decides whether silence means anything. A plan
-- may have a date. Said_at is when the chat said what made a version, beside updated_at,
-- when it was written; said_until is when the chat ended it, beside ended_at. Author is
-- the person who wrote a version by hand, '' where a job did.
alter table memories
    add column type       text not null default 'fact',
    add column due_on     date,
    add column said_at    timestamptz,
    add column said_until timestamptz,
    add column author     text not null default '',
    add column words      tsvector generated always as (reverie_words(statement)) stored,
    add constraint memories_type check (type in ('fact', 'habit', 'opinion', 'rule', 'plan', 'culture')),
    add constraint memories_due check (due_on is null or type = 'plan'),
    drop constraint memories_status,
    add constraint memories_status check (status in ('active', 'superseded', 'deprecated', 'archived', 'held'));

update memories m set said_at = coalesce(
    (select max(e.sent_at) from memory_evidence e
        where e.group_id = m.group_id and e.memory_id = m.memory_id and e.action in ('create', 'update')),
    (select least(r.window_until, m.updated_at) from runs r where r.group_id = m.group_id and r.run_id = m.run_id and r.job = 'evolve'),
    m.updated_at);
-- A lineage has one version at any instant of the chat: none was said before the one that
-- came before it.
update memories m set said_at = least(b.said_at, m.updated_at)
    from (select group_id, memory_id, max(said_at) over (partition by group_id, lineage_id order by version) as said_at
        from memories) b
    where b.group_id = m.group_id and b.memory_id = m.memory_id and least(b.said_at, m.updated_at) <> m.said_at;
update memories m set
    status = case when m.status in ('deprecated', 'archived') and c.memory_id is not null then 'superseded' else m.status end,
    said_until = case when m.ended_at is null then null else least(c.said_at, coalesce(
        (select max(e.sent_at) from memory_evidence e where e.group_id = m.group_id and e.memory_id = m.memory_id
            and e.action = 'delete' and e.sent_at between m.said_at and m.ended_at), greatest(m.ended_at, m.said_at))) end
    from memories self left join memories c on c.group_id = self.group_id and c.parent_id = self.memory_id
    where self.group_id = m.group_id and self.memory_id = m.memory_id and m.status <> 'active';
-- When an answer used what the rows of the usage log had offered that were pruned.
alter table memory_usage_totals add column last_used_at timestamptz;
update memory_usage_totals set last_used_at = last_offered_at where referenced > 0;

alter table memories alter column said_at set not null, alter column said_at set default now();

-- What was said in the past is found by its words.
alter table messages add column words tsvector generated always as (reverie_words(text)) stored;
create index messages_words on messages using gin (group_id, words);

-- The dates on which a group talked, by its own calendar: silence is counted in these.
create table active_nights (
    group_id text collate "C" not null,
    night    date not null,
    primary key (group_id, night),
    foreign key (group_id) references groups (group_id)
);
insert into active_nights (group_id, night)
    select distinct m.group_id, (m.sent_at at time zone coalesce(nullif(g.time_zone, ''), 'UTC'))::date
    from messages m join groups g using (group_id)
	where m.run_id is not null and m.outcome <> 'filtered' and m.role = 'user';

-- What cosines mean for an embedding model, measured on its first use with pairs of texts
-- that are built in. It is of no group: group_id is ''.
create table embedding_calibrations (
    group_id    text collate "C" not null default '',
    model       text             not null, -- name@dims
    pairs       integer          not null, -- version of the pairs
    floor       double precision not null, -- cosine of texts that have nothing in common: score 0
    related     double precision not null, -- from here two texts bear on each other: score 0.7
    ceiling     double precision not null, -- from here two texts say the same: score 1
    accuracy    double precision not null, -- share of the pairs that related tells apart; half by chance
    measured_at timestamptz      not null,
    primary key (group_id, model),
    constraint embedding_calibrations_order check (floor < related and related < ceiling)
);

-- When a group's notices of each type were last sent.
alter table groups add column noticed jsonb not null default '{}';

-- The tables that are new are read like the others.
select reverie_reader('reverie_reader');
