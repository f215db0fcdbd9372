"""A Discord bot (discord.py): it remembers what is said, and answers who speaks to it."""

import os
import signal
from datetime import datetime, timezone

import discord
from openai import AsyncOpenAI
from reverie_memory import Middleware, Reverie

memory = Middleware(Reverie(os.environ.get("REVERIE_URL", "http://127.0.0.1:8470"), os.environ.get("REVERIE_TOKEN")))
openai = AsyncOpenAI()
SYSTEM = {"role": "system", "content": "You are a member of this chat. Answer in its language, and briefly."}

LONGEST = 2000  # characters of a message of Discord


def group_of(channel_id: int) -> str:
    """As `reverie import` names it, so that an export of the channel continues here."""
    return f"discord-{channel_id}"


class MemoryBot(discord.Client):
    async def on_message(self, message: discord.Message) -> None:
        assert self.user is not None
        group, text = group_of(message.channel.id), message.clean_content
        if message.author.bot or not text:
            return
        asked = isinstance(message.channel, discord.DMChannel) or self.user in message.mentions
        words = message.content.replace(f"<@{self.user.id}>", "").strip()
        person = str(message.author.id)
        if (asked or words.startswith("/")) and (answer := await memory.aprivacy(words, person, group=group)):
            await message.reply(answer[:LONGEST], mention_author=False)
            return
        line = {
            "id": str(message.id),
            "author": message.author.display_name,
            "author_id": person,
            "text": text,
            "sent_at": message.created_at,
        }
        if message.reference and message.reference.message_id:
            line["reply_to"] = str(message.reference.message_id)
        memory.remember(line, group=group)
        if asked:
            model = memory.wrap(openai, group=group, message_id=line["id"], remember_user=False)
            messages = [SYSTEM, {"role": "user", "content": f"{line['author']}: {text}"}]
            done = await model.chat.completions.create(model=os.environ.get("MODEL", "gpt-5-mini"), messages=messages)
            answer = done.choices[0].message.content or "…"
            await message.reply(answer[:LONGEST], mention_author=False)

    async def on_raw_message_edit(self, payload: discord.RawMessageUpdateEvent) -> None:
        # Discord also says so when it adds a preview: only then there is no time.
        if payload.message.edited_at and not payload.message.author.bot:
            line = {
                "id": str(payload.message_id),
                "text": payload.message.clean_content,
                "edited_at": payload.message.edited_at,
            }
            memory.remember(line, group=group_of(payload.channel_id))

    async def on_raw_message_delete(self, payload: discord.RawMessageDeleteEvent) -> None:
        self.deleted({payload.message_id}, payload.channel_id)

    async def on_raw_bulk_message_delete(self, payload: discord.RawBulkMessageDeleteEvent) -> None:
        self.deleted(payload.message_ids, payload.channel_id)

    def deleted(self, ids: set[int], channel_id: int) -> None:
        now = datetime.now(timezone.utc)
        memory.remember(({"id": str(i), "deleted_at": now} for i in sorted(ids)), group=group_of(channel_id))

    async def on_raw_reaction_add(self, payload: discord.RawReactionActionEvent) -> None:
        self.reacted(payload, 1)

    async def on_raw_reaction_remove(self, payload: discord.RawReactionActionEvent) -> None:
        self.reacted(payload, 0)

    def reacted(self, payload: discord.RawReactionActionEvent, count: int) -> None:
        group, emoji = group_of(payload.channel_id), str(payload.emoji)
        memory.react(str(payload.message_id), emoji, str(payload.user_id), count=count, group=group)

    async def close(self) -> None:
        await super().close()
        await memory.aclose()


def new_bot() -> MemoryBot:
    intents = discord.Intents.default()
    intents.message_content = True
    return MemoryBot(intents=intents, allowed_mentions=discord.AllowedMentions.none())


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends as by Ctrl-C, and tells what is queued
    new_bot().run(os.environ["DISCORD_TOKEN"])
