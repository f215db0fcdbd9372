"""A NoneBot2 plugin for OneBot v11 (QQ): it remembers what is said, and answers who speaks to it."""

import os
from datetime import datetime, timezone

from nonebot import get_driver, on_message, on_notice
from nonebot.adapters.onebot.v11 import FriendRecallNoticeEvent, GroupMessageEvent, GroupRecallNoticeEvent, MessageEvent
from openai import AsyncOpenAI
from reverie_memory import Middleware, Reverie

memory = Middleware(Reverie(os.environ.get("REVERIE_URL", "http://127.0.0.1:8470"), os.environ.get("REVERIE_TOKEN")))
openai = AsyncOpenAI()
SYSTEM = {"role": "system", "content": "You are a member of this chat. Answer in its language, and briefly."}

get_driver().on_shutdown(memory.aclose)
chat = on_message()
recall = on_notice()


def group_of(event: MessageEvent | GroupRecallNoticeEvent | FriendRecallNoticeEvent) -> str:
    """As `reverie import` names it, so that an export of the chat continues here."""
    if isinstance(event, GroupMessageEvent | GroupRecallNoticeEvent):
        return f"onebot-{event.group_id}"
    return f"onebot-private-{event.user_id}"


def author_of(event: MessageEvent) -> tuple[str, str]:
    """Id and name. All who are anonymous have one user, so the mask that they wear counts."""
    if isinstance(event, GroupMessageEvent) and event.anonymous:
        return f"anonymous-{event.anonymous.id}", event.anonymous.name
    return event.get_user_id(), event.sender.card or event.sender.nickname or event.get_user_id()


@chat.handle()
async def said(event: MessageEvent) -> None:
    group, text = group_of(event), event.get_plaintext().strip()
    if not text:
        return
    author_id, author = author_of(event)
    spoken_to = event.is_tome()
    person = author_id == event.get_user_id()  # others may wear the same mask
    if (
        person
        and (spoken_to or text.startswith("/"))
        and (answer := await memory.aprivacy(text, author_id, group=group))
    ):
        await chat.finish(answer)
    message = {
        "id": str(event.message_id),
        "author": author,
        "author_id": author_id,
        "text": text,
        "sent_at": datetime.fromtimestamp(event.time, timezone.utc),
    }
    if event.reply:
        message["reply_to"] = str(event.reply.message_id)
    memory.remember(message, group=group)
    if spoken_to:
        bot = memory.wrap(openai, group=group, message_id=message["id"], remember_user=False)
        messages = [SYSTEM, {"role": "user", "content": f"{author}: {text}"}]
        done = await bot.chat.completions.create(model=os.environ.get("MODEL", "gpt-5-mini"), messages=messages)
        await chat.finish(done.choices[0].message.content or "……")


@recall.handle()
async def taken_back(event: GroupRecallNoticeEvent | FriendRecallNoticeEvent) -> None:
    at = datetime.fromtimestamp(event.time, timezone.utc)
    memory.remember({"id": str(event.message_id), "deleted_at": at}, group=group_of(event))
