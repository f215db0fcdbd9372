-- +goose Up
-- compatible with: 15

-- Of which instant the text is, where somebody has edited it, and who has reacted how:
-- []reverie.Reaction.
alter table messages
    add column edited_at timestamptz,
    add column reactions jsonb not null default '[]';

-- What is known of messages and has not come to them: they have not arrived, or a run works
-- in the group. It is merged into one row a message, and the row goes with what it brings about.
create table message_changes (
    group_id   text collate "C" not null,
    message_id text collate "C" not null,
    text       text,                           -- null: as it is
    edited_at  timestamptz,
    filter     text        not null default '', -- command, where the text is one to a bot
    deleted    boolean     not null default false,
    reactions  jsonb       not null default '[]', -- []reverie.Reaction; a count of 0 takes one away
    created_at timestamptz not null,
    primary key (group_id, message_id),
    foreign key (group_id) references groups (group_id),
    constraint message_changes_edited check ((text is null) = (edited_at is null))
);

select reverie_reader('reverie_reader');
