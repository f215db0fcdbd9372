-- +goose Up

-- The second wall between groups: what the API reads, it reads as a role that may only
-- select, and to which row-level security shows the rows of the groups that its
-- transaction names in reverie.groups: an array of ids, '*' for all, or nothing at all.
--
-- For everybody else nothing changes: the owner passes row-level security, and the policy
-- "everyone" lets through whoever has been granted a table. Who may become the reader, and
-- inherits its policies by that, is told from it by current_user. Both subqueries are
-- worked out once for a statement, and comparing group ids leaks nothing, so that the
-- indexes are used as before.

-- +goose StatementBegin
create function reverie_reader(reader name) returns text language plpgsql as $$
declare
    visible text;
    t       record;
begin
    perform pg_advisory_xact_lock(hashtext('reverie_reader'));
    if not exists (select 1 from pg_roles where rolname = reader) then
        begin
            execute format('create role %I nologin', reader);
        exception
            when insufficient_privilege then
                return format('there is no role %I, and %I may not create roles', reader, current_user);
            when duplicate_object or unique_violation then
                null; -- roles belong to the server: another of its databases was first
        end;
    end if;
    if not pg_has_role(reader, 'member') then
        begin
            execute format('grant %I to %I', reader, current_user);
        exception when insufficient_privilege or internal_error then
            null; -- an administrator's work, or under way in another database
        end;
    end if;
    if not has_schema_privilege(reader, current_schema(), 'usage') then
        execute format('grant usage on schema %I to %I', current_schema(), reader);
    end if;
    visible := format($sql$(select current_user <> %L or current_setting('reverie.groups', true) = '*')
        or group_id = any ((select case when current_setting('reverie.groups', true) like '{%%'
            then current_setting('reverie.groups', true)::text[] end)::text[])$sql$, reader);
    for t in select c.oid::regclass as name, c.relname, c.relrowsecurity from pg_class c
            join pg_attribute a on a.attrelid = c.oid and a.attname = 'group_id' and not a.attisdropped
            where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') order by c.relname loop
        if not t.relrowsecurity then
            execute format('alter table %s enable row level security', t.name);
            execute format('create policy everyone on %s using (true) with check (true)', t.name);
        end if;
        -- Of tokens and logins the reader knows nothing. What this database is called among
        -- others is no group's.
        if t.relname not in ('api_tokens', 'page_sessions') and not has_table_privilege(reader, t.name, 'select') then
            execute format('grant select on %s to %I', t.name, reader);
        end if;
        if t.relname <> 'deployments' and not exists (select 1 from pg_policy p where p.polrelid = t.name and p.polname = reader) then
            execute format('create policy %I on %s as restrictive for select to %I using (%s)', reader, t.name, reader, visible);
        end if;
    end loop;
    return '';
end $$;
-- +goose StatementEnd

-- Where the role may not be created, the policies come with the next migration, or by
-- this very call, once it is there.
select reverie_reader('reverie_reader');
