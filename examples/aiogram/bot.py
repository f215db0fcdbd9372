"""A Telegram bot (aiogram): it remembers what is said, and answers who speaks to it."""

import asyncio
import os
from datetime import datetime, timezone

from aiogram import Bot, Dispatcher, F, Router
from aiogram.client.session.aiohttp import AiohttpSession
from aiogram.client.telegram import PRODUCTION, TelegramAPIServer
from aiogram.types import Message, MessageReactionUpdated, ReactionTypeEmoji
from openai import AsyncOpenAI
from reverie_memory import Middleware, Reverie

memory = Middleware(Reverie(os.environ.get("REVERIE_URL", "http://127.0.0.1:8470"), os.environ.get("REVERIE_TOKEN")))
openai = AsyncOpenAI()
router = Router()
SYSTEM = {"role": "system", "content": "You are a member of this chat. Answer in its language, and briefly."}

LONGEST = 4096  # characters of a message of Telegram


def group_of(chat_id: int) -> str:
    """As `reverie import` names it, so that an export of the chat continues here."""
    return "telegram-" + str(chat_id).removeprefix("-100").removeprefix("-")


def author_of(message: Message) -> tuple[str, str]:
    """Id, as Telegram's exports have it, and name."""
    if message.from_user and not message.sender_chat:
        return f"user{message.from_user.id}", message.from_user.full_name
    sender = message.sender_chat or message.chat  # a channel or an anonymous admin: their user is one for all
    return group_of(sender.id).replace("telegram-", "channel"), sender.full_name


async def spoken_to(message: Message, bot: Bot) -> bool:
    me = await bot.me()
    replied = message.reply_to_message and message.reply_to_message.from_user
    return bool(
        message.chat.type == "private"
        or f"@{me.username}".casefold() in (message.text or "").casefold()
        or (replied and replied.id == me.id)
    )


@router.message(F.text)
async def said(message: Message, bot: Bot) -> None:
    group, text = group_of(message.chat.id), message.text or ""
    author_id, author = author_of(message)
    asked = await spoken_to(message, bot)
    command = text.startswith("/") and "@" not in text  # of those to another bot none is ours
    person = not message.sender_chat  # who speaks as a chat may be anybody of it
    if person and (asked or command) and (answer := await memory.aprivacy(text, author_id, group=group)):
        await message.answer(answer[:LONGEST])
        return
    line = {
        "id": str(message.message_id),
        "author": author,
        "author_id": author_id,
        "text": text,
        "sent_at": message.date,
    }
    if message.reply_to_message:
        line["reply_to"] = str(message.reply_to_message.message_id)
    memory.remember(line, group=group)
    if asked:
        model = memory.wrap(openai, group=group, message_id=line["id"], remember_user=False)
        messages = [SYSTEM, {"role": "user", "content": f"{author}: {text}"}]
        done = await model.chat.completions.create(model=os.environ.get("MODEL", "gpt-5-mini"), messages=messages)
        await message.answer((done.choices[0].message.content or "…")[:LONGEST])


@router.edited_message(F.text)
async def edited(message: Message) -> None:
    at = datetime.fromtimestamp(message.edit_date or 0, timezone.utc)
    memory.remember(
        {"id": str(message.message_id), "text": message.text, "edited_at": at}, group=group_of(message.chat.id)
    )


@router.message_reaction()
async def reacted(event: MessageReactionUpdated) -> None:
    if event.user is None:
        return
    old = {r.emoji for r in event.old_reaction if isinstance(r, ReactionTypeEmoji)}
    new = {r.emoji for r in event.new_reaction if isinstance(r, ReactionTypeEmoji)}
    for emoji in old ^ new:
        group = group_of(event.chat.id)
        memory.react(str(event.message_id), emoji, f"user{event.user.id}", count=int(emoji in new), group=group)


async def main() -> None:
    dispatcher = Dispatcher()
    dispatcher.include_router(router)
    dispatcher.shutdown.register(memory.aclose)
    own = os.environ.get("TELEGRAM_API")  # a Bot API server of your own
    session = AiohttpSession(api=TelegramAPIServer.from_base(own) if own else PRODUCTION)
    bot = Bot(os.environ["TELEGRAM_TOKEN"], session=session)
    await dispatcher.start_polling(bot, allowed_updates=["message", "edited_message", "message_reaction"])


if __name__ == "__main__":
    asyncio.run(main())
