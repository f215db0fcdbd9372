-- +goose Up
-- compatible with: 19

-- What orders rows is a time in microseconds, and no sequence: of a distributed database each server counts for itself.
-- All that was numbered before has smaller numbers. Rows that one statement writes are numbered by it from the statement's
-- time on; the defaults are for those of which the order among each other says nothing, and for binaries before this one.
-- A statement writes one row of a version, and of a lineage. These indexes are built before other tables are locked.
alter table memory_values alter column value_no drop identity;
alter table memory_values alter column value_no set default (extract(epoch from statement_timestamp()) * 1000000)::bigint;
alter table memory_values drop constraint memory_values_pkey;
alter table memory_values add primary key (group_id, memory_id, value_no);
alter table past_rejudgements alter column past_no drop identity;
alter table past_rejudgements alter column past_no set default (extract(epoch from statement_timestamp()) * 1000000)::bigint;
alter table past_rejudgements drop constraint past_rejudgements_pkey;
alter table past_rejudgements add primary key (group_id, lineage_id, past_no);

alter table messages alter column seq drop identity;
alter table messages alter column seq set default (extract(epoch from clock_timestamp()) * 1000000)::bigint;
alter table memory_evidence alter column evidence_no drop identity;
alter table memory_evidence alter column evidence_no set default (extract(epoch from clock_timestamp()) * 1000000)::bigint;
alter table entity_evidence alter column evidence_no drop identity;
alter table entity_evidence alter column evidence_no set default (extract(epoch from clock_timestamp()) * 1000000)::bigint;
alter table webhook_events alter column event_no drop identity;
alter table webhook_events alter column event_no set default (extract(epoch from clock_timestamp()) * 1000000)::bigint;

-- Who writes what no row of its own tells of notes that it did, for as long as the reply to its commit may be
-- lost, and at least for a day. The ids are in the order of time.
create table writes (
    group_id text collate "C" not null, -- '' where it was not known yet
    write_id uuid not null,
    primary key (group_id, write_id)
);

-- Over several servers, by Citus: see docs/scale.md.
-- +goose StatementBegin
create function reverie_distributed() returns boolean language sql stable as $$
    select exists (select from pg_trigger t join pg_proc p on p.oid = t.tgfoid
        where t.tgrelid = to_regclass('groups') and p.proname = 'citus_truncate_trigger')
$$;

-- Distributes what is not yet, and returns the tables' names: where begin says so, or it was begun before. A migration
-- that makes a table calls it before it adds foreign keys; and an ALTER that adds a constraint does nothing else. Citus cannot
-- carry the policies of the reader.
create function reverie_distribute(begin boolean) returns setof text language plpgsql as $$
declare
    t regclass;
    p name;
    done regclass[] := '{}';
begin
    if not begin and not reverie_distributed() then return; end if;
    set local citus.multi_shard_modify_mode = 'sequential';
    loop
        -- a table comes after those that it refers to
        select c.oid into t from pg_class c
            join pg_attribute a on a.attrelid = c.oid and a.attname = 'group_id' and not a.attisdropped
            where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r'
                and not exists (select from pg_dist_partition d where d.logicalrelid = c.oid)
                and not exists (select from pg_constraint f where f.conrelid = c.oid and f.contype = 'f' and f.confrelid <> c.oid
                    and not exists (select from pg_dist_partition d where d.logicalrelid = f.confrelid))
            order by c.relname <> 'groups', c.relname limit 1;
        exit when t is null;
        for p in select polname from pg_policy where polrelid = t loop
            execute format('drop policy %I on %s', p, t);
        end loop;
        execute format('alter table %s disable row level security', t);
        if t in ('webhooks'::regclass, 'deployments'::regclass) then -- every server has what belongs to no group
            perform create_reference_table(t);
        else
            perform create_distributed_table(t, 'group_id', colocate_with => case when t = 'groups'::regclass then 'none' else 'groups' end);
        end if;
        done := done || t;
    end loop;
    foreach t in array done loop
        perform truncate_local_data_after_distributing_table(t);
        return next t::text;
    end loop;
end $$;
-- +goose StatementEnd

alter function reverie_reader(name) rename to reverie_confine;
-- +goose StatementBegin
create function reverie_reader(reader name) returns text language plpgsql as $$
begin
    if reverie_distributed() then return 'the tables are distributed by Citus'; end if;
    return reverie_confine(reader);
end $$;
-- +goose StatementEnd
select reverie_distribute(false);
select reverie_reader('reverie_reader');
