-- +goose Up

-- Words are looked up together with the group that said them.
-- +goose StatementBegin
do $$ begin -- who may not create it may find it there
    if not exists (select from pg_extension where extname = 'btree_gin') then create extension btree_gin; end if;
end $$;
-- +goose StatementEnd

-- What a text is found by: its words, English ones by their stem. Scripts that put no
-- space between words are found by each character and by each pair of neighbours. Words
-- that only ask, point or join say nothing: English ones are left out by their list in
-- PostgreSQL, Chinese ones by the one here. Both sides of a comparison go through this function, so that they fold alike.
-- +goose StatementBegin
create function reverie_words(said text) returns tsvector language plpgsql immutable strict parallel safe as $$
declare
    folded text := left(said, 8000);
begin
    if octet_length(folded) > length(folded) then
        folded := normalize(folded, NFKC);
        folded := regexp_replace(folded,
            '什[么麼]时候|什麼時候|为什么|為什麼|什[么麼]|时候|時候|怎[么麼][样樣]?|怎[样樣]|哪[里裡儿兒个個些天位]|多少|几[点點]|幾點'
            '|[我你他她它咱][们們]|[这這那][个個些里裡]|没有|沒有|[我你您他她它谁誰的了着著吗嗎呢吧啊呀嘛是这這那也都就很]', ' ', 'g');
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

-- What is archived is found where nothing that is active bears on a query.
create index memories_archived on memories (group_id) where status = 'archived';

-- What was said in the past is found by its words.
alter table messages add column words tsvector generated always as (reverie_words(text)) stored;
create index messages_words on messages using gin (group_id, words);

-- The messages of a group that hold most of what the words asked weigh, best first. Those of
-- the session beside are left out, and what is said after until. A role that is confined to
-- some rows could not use the index over words itself. So this runs as its owner, and shows
-- what the caller may read: the group of its transaction, see reverie_reader.
--
-- What it costs is bounded. A word that many of the newest messages have is not looked up: it
-- counts in messages that another word finds, and in the newest. Where all words are such,
-- messages that have all of them count, too.
-- +goose StatementBegin
create function reverie_quotes(of_group text, asked text[], beside text, until timestamptz, fair float8, most int)
    returns table (message_id text, author text, said text, sent_at timestamptz, score float8)
    language plpgsql stable security definer as $$
declare
    caller   name := coalesce(nullif(current_setting('role'), 'none'), session_user);
    visible  text := current_setting('reverie.groups', true);
    newest   constant int := 500;  -- messages that are looked through for what is common
    lookups  constant int := 12;   -- words that are looked up in the index
    matches  constant int := 1000; -- of one word
begin
    if not has_table_privilege(caller, 'messages', 'select') or exists (
            select from pg_policy p join pg_roles r on r.oid = any (p.polroles)
                where p.polrelid = 'messages'::regclass and not p.polpermissive and r.rolname = caller)
            and not coalesce(visible = '*' or visible like '{%' and of_group = any (visible::text[]), false) then
        return;
    end if;
    return query with
        words as materialized (
            select w.lexeme, min(f.no) = 1 as written, ('''' || replace(replace(w.lexeme, '\', '\\'), '''', '''''') || '''')::tsquery as word
                from unnest(asked) with ordinality as f (form, no)
                    cross join lateral unnest(reverie_words(f.form)) as w (lexeme, positions, weights)
                group by w.lexeme order by min(f.no), length(w.lexeme) desc, w.lexeme limit 64),
        recent as materialized (
            (select x.message_id, x.words, x.sent_at, x.seq from messages x
                where x.group_id = of_group and x.run_id is not null and x.sent_at <= until order by x.sent_at desc, x.seq desc limit newest)
            union all
            (select x.message_id, x.words, x.sent_at, x.seq from messages x
                where x.group_id = of_group and x.run_id is null and x.outcome is null and x.sent_at <= until
                order by x.sent_at desc, x.seq desc limit newest)
            order by sent_at desc, seq desc limit newest),
        seen as materialized (
            select w.lexeme, w.written, w.word, count(r.message_id) as times, row_number() over (order by count(r.message_id), length(w.lexeme) desc, w.lexeme) as no
                from words w left join recent r on r.words @@ w.word group by w.lexeme, w.written, w.word),
        size as materialized (
            select count(*) as looked, case when count(*) < newest then count(*)
                else (select count(*) from (select from messages x where x.group_id = of_group limit 10 * matches) x) end::float8 as n from recent),
        pairs as materialized (
            select s.lexeme, x.message_id from seen s cross join lateral (
                select m.message_id from messages m where m.group_id = of_group and m.words @@ s.word limit matches + 1) x
                where s.no <= lookups and s.times < newest / 20 and (select looked from size) = newest),
        counted as materialized (
            select s.lexeme, s.written, s.word, least(z.n, greatest(coalesce(p.times, 0), s.times * z.n / greatest(z.looked, 1))) as df, z.n,
                    s.times >= newest / 20 or p.times > matches as common
                from seen s cross join size z left join (select p.lexeme, count(*) as times from pairs p group by p.lexeme) p on p.lexeme = s.lexeme),
        weighed as materialized (
            select c.lexeme, c.written, c.word, c.common, ln(1 + (c.n - c.df + 0.5) / (c.df + 0.5)) as idf from counted c),
        candidates as (
            select c.message_id from (
                select p.message_id, w.idf from pairs p join weighed w on w.lexeme = p.lexeme
                union all
                select r.message_id, w.idf from recent r join weighed w on r.words @@ w.word
                union all
                select m.message_id, e.idf from (
                        select string_agg(w.word::text, ' & ')::tsquery as words, sum(w.idf) as idf from weighed w
                            where w.written and w.common having count(*) > 1) e
                    cross join lateral (select x.message_id from messages x where x.group_id = of_group and x.words @@ e.words limit matches) m
                    where not exists (select from pairs) and (select looked from size) = newest) c group by c.message_id order by sum(c.idf) desc limit matches),
        matched as materialized (
            select m.message_id, m.author, m.role, m.text, m.sent_at, length(m.words) as long, w.idf
                from candidates c join messages m on m.group_id = of_group and m.message_id = c.message_id
                    join weighed w on m.words @@ w.word
                where m.role <> 'tool' and m.pruned_at is null and m.outcome is distinct from 'filtered' and m.sent_at <= until
                    and (beside = '' or m.session_id <> beside)),
        shares as (
            select m.message_id, m.author, m.role, m.text, m.sent_at, sum(m.idf) as found,
                    sum(m.idf * 2.2 / (1 + 1.2 * (0.25 + 0.75 * m.long / (select avg(long) from matched)))) as weight
                from matched m group by m.message_id, m.author, m.role, m.text, m.sent_at)
        select s.message_id, coalesce(nullif(s.author, ''), s.role), s.text, s.sent_at, least(s.weight / z.all, 1) as score
            from shares s cross join (select sum(idf) filter (where written) as all from weighed) z
            where s.found >= fair * z.all order by s.weight desc, s.sent_at desc, s.message_id limit most;
end $$;
-- +goose StatementEnd
-- It looks in its own schema first, and in a caller's temporary one last: what a caller
-- calls messages would otherwise run with the owner's rights.
-- +goose StatementBegin
do $$ begin
    execute format('alter function reverie_quotes(text, text[], text, timestamptz, float8, int) set search_path = %I, pg_temp', current_schema());
end $$;
-- +goose StatementEnd

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
