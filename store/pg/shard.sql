do $do$
declare t record;
begin
	perform pg_advisory_xact_lock(hashtext('reverie_shards'));
	if to_regclass('%[1]s.groups') is not null then return; end if;
	if to_regnamespace('reverie_migrates') is not null then
		raise undefined_table using message = 'a migration is under way';
	end if;
	perform set_config('citus.enable_ddl_propagation', 'off', true);
	drop schema if exists %[1]s cascade;
	create schema %[1]s;
	for t in select c.relname as name, format('%%I.%%I', c.relnamespace::regnamespace, c.relname || '_' || s.shardid) as shard
		from pg_dist_partition p join pg_dist_shard s on s.logicalrelid = p.logicalrelid join pg_class c on c.oid = p.logicalrelid,
			(select q.colocationid, o.shardminvalue, k.relnamespace from pg_dist_shard o join pg_dist_partition q
				on q.logicalrelid = o.logicalrelid join pg_class k on k.oid = q.logicalrelid where o.shardid = %[2]d) own
		where c.relnamespace = own.relnamespace
			and (p.repmodel = 't' or p.colocationid = own.colocationid and s.shardminvalue = own.shardminvalue)
	loop
		execute format('create view %[1]s.%%I as select * from %%s', t.name, t.shard);
	end loop;
	create function %[1]s.here() returns void language plpgsql as $here$ begin
		perform lock_shard_metadata(5, array[%[2]d]);
		if to_regnamespace('%[1]s') is null then
			raise undefined_table using message = 'a migration has begun';
		end if;
		if not exists (select from pg_dist_placement p join pg_dist_local_group l on l.groupid = p.groupid where p.shardid = %[2]d) then
			raise undefined_table using message = 'the groups of shard %[2]d were moved to another server';
		end if;
	end $here$;
end $do$
