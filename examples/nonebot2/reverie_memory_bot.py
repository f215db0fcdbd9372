"""A NoneBot2 plugin for OneBot v11 (QQ): it remembers what is said, and answers who speaks to it."""

import os
from datetime import datetime, timezone

from nonebot import get_driver, on_message, on_notice
from nonebot.adapters.onebot.v11 import (
    FriendRecallNoticeEvent,
    GroupMessageEvent,
    GroupRecallNoticeEvent,
    MessageEvent,
)
from openai import AsyncOpenAI
from reverie_memory import Middleware, Reverie

memory = Middleware(Reverie(os.environ.get("REVERIE_URL", "http://127.0.0.1:8470"), os.environ.get("REVERIE_TOKEN")))
openai = AsyncOpenAI()
SYSTEM = {"role": "system", "content": "You are a member of this chat. Answer in its language, and briefly."}

get_driver().on_shutdown(memory.aclose)
chat = on_message()
recall = on_notice()


def group_of(event: MessageEvent) -> str:
    """As `reverie import` names it, so that an export of the chat continues here."""
    return f"onebot-{event.group_id if isinstance(event, GroupMessageEvent) else event.user_id}"


@chat.handle()
async def said(event: MessageEvent) -> None:
    group, text = group_of(event), event.get_plaintext().strip()
    if not text:
        return
    spoken_to = event.is_tome()
    if (spoken_to or text.startswith("/")) and (answer := await memory.aprivacy(text, event.get_user_id(), group=group)):
        await chat.finish(answer)
    message = {
        "id": str(event.message_id),
        "author": event.sender.card or event.sender.nickname or event.get_user_id(),
        "author_id": event.get_user_id(),
        "text": text,
        "sent_at": datetime.fromtimestamp(event.time, timezone.utc),
        "session_id": group,
    }
    if event.reply:
        message["reply_to"] = str(event.reply.message_id)
    memory.remember(message, group=group)
    if spoken_to:
        bot = memory.wrap(openai, group=group, session=group, remember_user=False)
        asked = [SYSTEM, {"role": "user", "content": text}]
        done = await bot.chat.completions.create(model=os.environ.get("MODEL", "gpt-5-mini"), messages=asked)
        await chat.finish(done.choices[0].message.content)


@recall.handle()
async def taken_back(event: GroupRecallNoticeEvent | FriendRecallNoticeEvent) -> None:
    group = f"onebot-{event.group_id if isinstance(event, GroupRecallNoticeEvent) else event.user_id}"
    at = datetime.fromtimestamp(event.time, timezone.utc)
    memory.remember({"id": str(event.message_id), "deleted_at": at}, group=group)
