-- +goose Up
-- compatible with: 17

-- Whether a group is a private chat, of which no other group reads: '' is while two people's
-- accounts at most are known in it.
alter table groups
    add column private text not null default '',
    add constraint groups_private check (private in ('', 'on', 'off'));

-- That somebody in a group is somebody in another, as an operator says. A link stands in both
-- groups, and counts only so.
create table entity_links (
    group_id        text collate "C" not null,
    entity_id       uuid        not null,
    other_group_id  text collate "C" not null,
    other_entity_id uuid        not null,
    proved          boolean     not null,            -- both have the same account
    reason          text        not null default '', -- an operator's
    created_at      timestamptz not null,
    primary key (group_id, entity_id, other_group_id, other_entity_id),
    foreign key (group_id) references groups (group_id),
    constraint entity_links_other check (other_group_id <> group_id)
);

-- How far a memory reaches, in all its versions, where somebody has said so.
create table memory_scopes (
    group_id   text collate "C" not null,
    lineage_id uuid        not null,
    scope      text        not null,
    set_at     timestamptz not null,
    primary key (group_id, lineage_id),
    foreign key (group_id) references groups (group_id),
    constraint memory_scopes_scope check (scope in ('group', 'person'))
);

alter table memory_change_log
    drop constraint memory_change_log_action,
    add constraint memory_change_log_action check (action in
        ('update', 'create', 'delete', 'restore', 'archive', 'strength', 'weight', 'scope', 'undo'));

select reverie_reader('reverie_reader');
