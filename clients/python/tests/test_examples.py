"""The examples, driven by what their platforms send, against the binary."""

from __future__ import annotations

import itertools
import json
import types
from collections.abc import AsyncGenerator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from conftest import Example, Model
from reverie_memory import Middleware, Reverie
from server import ROOT, Server

numbers = itertools.count(7_000_001)  # a chat of its own for each test


def at(seconds: int) -> datetime:
    return datetime(2026, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=seconds)


def texts(server: Server, group: str) -> list[str]:
    with Reverie(server.url, server.token, group=group) as reverie:
        return [m["text"] for m in reverie.list_messages()["messages"]]


def lines(server: Server, group: str) -> list[Any]:
    with Reverie(server.url, server.token, group=group) as reverie:
        return list(reverie.list_messages()["messages"])


def patient(memory: Middleware) -> Middleware:
    """The tests' machine may be slow; nobody waits for the bot here."""
    memory.context_timeout = memory.flush_timeout = 60
    return memory


def told(memory: Middleware) -> None:
    assert memory.flush(60)


def system_of(model: Model) -> str:
    return "\n".join(m["content"] for m in model.asked[-1]["messages"] if m["role"] == "system")


async def long_answer(*_: object, **__: object) -> str:
    return "x" * 9000


class Story:
    """What every example must do, in the words of a platform that a subclass knows."""

    group: str
    edits = deletes = True

    async def say(self, n: int, author: int, text: str, *, to_bot: bool = False) -> list[str]:
        """Sends a message, and returns what the bot says to it."""
        raise NotImplementedError

    async def edit(self, n: int, author: int, text: str) -> None: ...

    async def delete(self, n: int, author: int) -> None: ...

    async def play(self, memory: Middleware, server: Server, model: Model, operations: set[str]) -> None:
        patient(memory)
        live = {"edit-message", "delete-message"} <= operations
        assert await self.say(1, 18402301, "We meet every Friday at eight in the library.") == []
        assert await self.say(2, 18402301, "I moved to Lisbon.") == []
        assert await self.say(3, 18402302, "My cat is called Pixel.") == []
        assert await self.say(4, 18402302, "see you tomorow") == []
        told(memory)
        assert len(texts(server, self.group)) == 4
        assert await self.say(5, 18402302, "When do we meet?", to_bot=True) == ["At eight."]
        told(memory)
        assert "every Friday" in system_of(model)
        assert "never an instruction" in system_of(model)
        assert texts(server, self.group)[-1] == "At eight."
        await self.edit(4, 18402302, "see you tomorrow")
        told(memory)
        if live and self.edits:
            assert "see you tomorrow" in texts(server, self.group)
        await self.delete(4, 18402302)
        told(memory)
        if live and self.deletes:
            assert not [t for t in texts(server, self.group) if t.startswith("see you")]
        # Not spoken to, it does nothing.
        assert await self.say(6, 18402303, "forget me") == []
        (answer,) = await self.say(7, 18402301, "what do you remember of me?", to_bot=True)
        (zh,) = await self.say(8, 18402301, "忘记我", to_bot=True)
        if {"get-author-memories", "forget-author"} <= operations:
            assert answer.startswith("I keep 2 of your messages")
            assert zh.startswith("我已经忘记你了：永久删除了 2 条消息")
            left = json.dumps(lines(server, self.group), ensure_ascii=False)
            assert "Lisbon" not in left
            assert "18402301" not in left
            assert "Pixel" in left
            assert await self.say(9, 18402301, "你记得我什么", to_bot=True) == ["我没有关于你的记忆。"]
        else:
            assert "nothing has changed" in answer
            assert "什么都没有改变" in zh
        told(memory)
        assert memory.missed == 0
        assert memory.dropped == 0 or not live  # an older server takes no edits
        assert not [t for t in texts(server, self.group) if "remember of me" in t or "忘记我" in t]
        before = lines(server, self.group)

        def forget() -> None:
            told(memory)
            (author,) = {m["author_id"] for m in lines(server, self.group) if "Take your time" in m["text"]}
            with Reverie(server.url, server.token, group=self.group) as reverie:
                reverie.forget(author)

        model.meanwhile = forget  # the answer comes after, and is not remembered
        assert await self.say(10, 18402304, "Take your time.", to_bot=True) == ["At eight."]
        model.meanwhile = lambda: None
        told(memory)
        assert lines(server, self.group) == before


# --- NoneBot2 ---


async def test_nonebot(server: Server, surroundings: Model, operations: set[str]) -> None:
    nonebot = pytest.importorskip("nonebot")
    from nonebot.adapters.onebot.v11 import Adapter, Bot, Event, Message
    from nonebot.adapters.onebot.v11.event import (
        Anonymous,
        GroupMessageEvent,
        GroupRecallNoticeEvent,
        PrivateMessageEvent,
        Reply,
        Sender,
    )
    from nonebug import App

    nonebot.get_driver().register_adapter(Adapter)
    example = Example("nonebot2/reverie_memory_bot.py").module
    group = next(numbers)

    class NoneBot(Story):
        deletes = True
        edits = False  # QQ has none

        def __init__(self) -> None:
            self.group = f"onebot-{group}"

        async def send(self, event: Event) -> list[str]:
            said: list[str] = []
            async with App().test_matcher([example.chat, example.recall]) as ctx:
                bot = ctx.create_bot(base=Bot, adapter=nonebot.get_adapter(Adapter), self_id="1")

                async def send(event: Event, message: Any, **_: Any) -> None:
                    said.append(str(message))

                bot.send = send
                ctx.receive_event(bot, event)
            return said

        async def say(self, n: int, author: int, text: str, *, to_bot: bool = False) -> list[str]:
            event = GroupMessageEvent(
                time=1_767_225_600 + n, self_id=1, post_type="message", message_type="group", sub_type="normal",
                user_id=author, group_id=group, message_id=n, message=Message(text), original_message=Message(text),
                raw_message=text, font=0, sender=Sender(user_id=author, nickname=f"member {author}"), to_me=to_bot,
            )  # fmt: skip
            if n == 3:
                event.reply = Reply(
                    time=1,
                    message_type="group",
                    message_id=1,
                    real_id=1,
                    message=Message("x"),
                    sender=Sender(user_id=18402301),
                )
            return await self.send(event)

        async def delete(self, n: int, author: int) -> None:
            event = GroupRecallNoticeEvent(
                time=1_767_226_000, self_id=1, post_type="notice", notice_type="group_recall", user_id=author,
                group_id=group, operator_id=author, message_id=n,
            )  # fmt: skip
            await self.send(event)

    await NoneBot().play(example.memory, server, surroundings, operations)

    def event(kind: Any, n: int, text: str, **more: Any) -> Any:
        return kind(
            time=1_767_226_100, self_id=1, post_type="message", user_id=80000000, message_id=n, font=0,
            message=Message(text), original_message=Message(text), raw_message=text, to_me=n > 20, **more,
            sender=Sender(user_id=80000000, nickname="anonymous"),
        )  # fmt: skip

    mask = Anonymous(id=5, name="Big Horse", flag="f")
    in_group = {"message_type": "group", "sub_type": "anonymous", "group_id": group, "anonymous": mask}
    assert await NoneBot().send(event(GroupMessageEvent, 20, "I hide.", **in_group)) == []
    # The mask is of many, so nobody is forgotten: it is a question as any other.
    assert await NoneBot().send(event(GroupMessageEvent, 21, "forget me", **in_group)) == ["At eight."]
    in_private: dict[str, Any] = {"message_type": "private", "sub_type": "friend"}
    assert await NoneBot().send(event(PrivateMessageEvent, 22, "I am alone.", **in_private)) == ["At eight."]
    told(example.memory)
    masked = [(m["author_id"], m["author"]) for m in lines(server, f"onebot-{group}") if m["text"] == "I hide."]
    assert masked == [("anonymous-5", "Big Horse")]
    assert "I am alone." in texts(server, "onebot-private-80000000")
    await example.memory.aclose()


# --- aiogram ---


async def test_aiogram(
    server: Server, surroundings: Model, operations: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("aiogram")
    from aiogram import Bot, Dispatcher
    from aiogram.client.session.base import BaseSession
    from aiogram.methods import GetMe, SendMessage
    from aiogram.types import Chat, Message, MessageReactionUpdated, ReactionTypeEmoji, Update, User

    example = Example("aiogram/bot.py").module
    group = next(numbers)
    me = User(id=1, is_bot=True, first_name="Rev", username="rev_bot")
    chat = Chat(id=int(f"-100{group}"), type="supergroup", title="Book club")

    class Session(BaseSession):
        """Telegram, as far as the bot asks."""

        def __init__(self) -> None:
            super().__init__()
            self.said: list[str] = []

        async def make_request(self, bot: Any, method: Any, timeout: int | None = None) -> Any:
            if isinstance(method, GetMe):
                return me
            assert isinstance(method, SendMessage)
            self.said.append(method.text)
            return Message(message_id=900, date=at(0), chat=chat, text=method.text)

        async def stream_content(self, *_: Any, **__: Any) -> AsyncGenerator[bytes, None]:
            yield b""

        async def close(self) -> None: ...

    session, dispatcher = Session(), Dispatcher()
    dispatcher.include_router(example.router)
    bot = Bot("1:token", session=session)

    class Telegram(Story):
        deletes = False  # Telegram does not tell

        def __init__(self) -> None:
            self.group = f"telegram-{group}"

        def message(self, n: int, author: int, text: str) -> Message:
            user = User(id=author, is_bot=False, first_name="member", last_name=str(author))
            return Message(message_id=n, date=at(n), chat=chat, from_user=user, text=text)

        async def say(self, n: int, author: int, text: str, *, to_bot: bool = False) -> list[str]:
            session.said.clear()
            message = self.message(n, author, text + " @Rev_Bot" if to_bot else text)
            if n == 3:
                message = message.model_copy(update={"reply_to_message": self.message(1, 18402301, "x")})
            await dispatcher.feed_update(bot, Update(update_id=n, message=message))
            return list(session.said)

        async def edit(self, n: int, author: int, text: str) -> None:
            message = self.message(n, author, text).model_copy(update={"edit_date": 1_767_226_000})
            await dispatcher.feed_update(bot, Update(update_id=n, edited_message=message))

    await Telegram().play(example.memory, server, surroundings, operations)
    for n, text in ((20, "The office is closed."), (21, "/forget_me")):  # an anonymous admin: nobody is forgotten
        shared = User(id=1087968824, is_bot=True, first_name="Group")
        by_chat = Message(message_id=n, date=at(n), chat=chat, from_user=shared, sender_chat=chat, text=text)
        await dispatcher.feed_update(bot, Update(update_id=n, message=by_chat))
    told(example.memory)
    assert await Telegram().say(22, 18402302, "/forget_me@other_bot") == []  # an order to another bot
    monkeypatch.setattr(example.memory, "aprivacy", long_answer)
    assert await Telegram().say(23, 18402302, "my memories", to_bot=True) == ["x" * 4096]
    (line,) = [m for m in lines(server, f"telegram-{group}") if m["text"] == "The office is closed."]
    assert (line["author_id"], line["author"]) == (f"channel{group}", "Book club")
    thumb = ReactionTypeEmoji(emoji="👍")
    changes: list[tuple[list[Any], list[Any]]] = [([], [thumb]), ([thumb], [])]
    for old, new in changes:
        reaction = MessageReactionUpdated(
            chat=chat, message_id=3, date=at(400), old_reaction=old, new_reaction=new,
            user=User(id=18402302, is_bot=False, first_name="m"),
        )  # fmt: skip
        await dispatcher.feed_update(bot, Update(update_id=1, message_reaction=reaction))
        if "edit-message" in operations:
            told(example.memory)
            (line,) = [m for m in lines(server, f"telegram-{group}") if m["id"] == "3"]
            assert line.get("reactions", {}) == ({"👍": 1} if new else {})
    await example.memory.aclose()


# --- discord.py ---


async def test_discord(
    server: Server, surroundings: Model, operations: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    discord = pytest.importorskip("discord")

    example = Example("discord.py/bot.py").module
    channel = next(numbers)
    bot = example.new_bot()
    await bot._async_setup_hook()
    state = bot._connection
    state.user = discord.ClientUser(state=state, data=user(1, "rev", bot=True))
    state.parsers["GUILD_CREATE"](GUILD | {"channels": [{**CHANNEL, "id": str(channel)}]})
    said: list[str] = []

    async def request(route: Any, **kwargs: Any) -> Any:
        """Discord's HTTP API, as far as the bot asks."""
        assert (route.method, route.path) == ("POST", "/channels/{channel_id}/messages")
        body = kwargs.get("json") or json.loads(next(f["value"] for f in kwargs["form"] if f["name"] == "payload_json"))
        said.append(body["content"])
        return {**message(900, 1, body["content"], channel), "author": user(1, "rev", bot=True)}

    bot.http.request = request

    async def dispatch(event: str, data: Any) -> None:
        """Hands over what the gateway sends, and waits until the bot is done with it."""
        tasks: list[Any] = []
        schedule = bot._schedule_event
        bot._schedule_event = lambda *a, **k: tasks.append(schedule(*a, **k))
        try:
            state.parsers[event](data)
        finally:
            bot._schedule_event = schedule
        for task in tasks:
            await task

    class Discord(Story):
        def __init__(self) -> None:
            self.group = f"discord-{channel}"

        async def say(self, n: int, author: int, text: str, *, to_bot: bool = False) -> list[str]:
            said.clear()
            data = message(n, author, f"<@1> {text}" if to_bot else text, channel)
            if to_bot:
                data["mentions"] = [user(1, "rev", bot=True)]
            if n == 3:
                data["message_reference"] = {"message_id": "1", "channel_id": str(channel)}
            await dispatch("MESSAGE_CREATE", data)
            return list(said)

        async def edit(self, n: int, author: int, text: str) -> None:
            await dispatch("MESSAGE_UPDATE", message(n, author, "a preview is no edit", channel))
            data = {**message(n, author, text, channel), "edited_timestamp": "2026-01-01T00:10:00.000000+00:00"}
            await dispatch("MESSAGE_UPDATE", data)

        async def delete(self, n: int, author: int) -> None:
            await dispatch("MESSAGE_DELETE", {"id": str(n), "channel_id": str(channel)})
            await dispatch("MESSAGE_DELETE_BULK", {"ids": [str(n)], "channel_id": str(channel)})

    await Discord().play(example.memory, server, surroundings, operations)
    with monkeypatch.context() as m:
        m.setattr(example.memory, "aprivacy", long_answer)
        assert await Discord().say(23, 18402302, "my memories", to_bot=True) == ["x" * 2000]
    reaction: dict[str, Any] = {
        "user_id": "18402302",
        "channel_id": str(channel),
        "message_id": "3",
        "emoji": {"id": None, "name": "👍"},
    }
    for event, want in (("MESSAGE_REACTION_ADD", {"👍": 1}), ("MESSAGE_REACTION_REMOVE", {})):
        await dispatch(event, {**reaction, "type": 0, "burst": False})
        if "edit-message" in operations:
            told(example.memory)
            (line,) = [m for m in lines(server, f"discord-{channel}") if m["id"] == "3"]
            assert line.get("reactions", {}) == want
    await example.memory.aclose()


# --- AstrBot ---


async def test_astrbot(
    server: Server, surroundings: Model, operations: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # AstrBot makes its folder where it is started
    pytest.importorskip("astrbot", reason="AstrBot is large: pip install -e '.[astrbot]'")
    from astrbot.api.event import AstrMessageEvent
    from astrbot.api.message_components import Plain, Reply
    from astrbot.api.platform import AstrBotMessage, MessageMember, MessageType, PlatformMetadata
    from astrbot.api.provider import LLMResponse, ProviderRequest
    from astrbot.core.star.star_handler import EventType, star_handlers_registry

    example = Example("astrbot/main.py").module
    conf = json.loads((ROOT / "examples/astrbot/_conf_schema.json").read_text("utf-8"))
    config = {name: field["default"] for name, field in conf.items()} | {"url": server.url, "token": server.token}
    kept = {"aiocqhttp:GroupMessage:1"}  # AstrBot's own conversations

    class Conversations:
        async def delete_conversations_by_user_id(self, origin: str) -> None:
            kept.clear()

    star = example.ReverieMemory(types.SimpleNamespace(conversation_manager=Conversations()), config)
    patient(star.memory)
    group = next(numbers)

    def handlers(kind: Any) -> list[Any]:
        """What the plugin has registered, as AstrBot calls it."""
        all_of = star_handlers_registry.get_handlers_by_event_type(kind, only_activated=False)
        return [h.handler for h in all_of if h.handler_module_path == example.__name__]

    class AstrBot(Story):
        edits = False  # AstrBot does not tell

        def __init__(self) -> None:
            self.group = f"onebot-{group}"

        def event(self, n: int, author: int, text: str, raw: Any = None) -> Any:
            m = AstrBotMessage()
            m.type, m.self_id, m.session_id, m.message_id = MessageType.GROUP_MESSAGE, "1", str(group), str(n)
            m.group_id, m.sender = str(group), MessageMember(str(author), f"member {author}")
            m.message, m.message_str, m.raw_message, m.timestamp = [Plain(text)], text, raw, 1_767_225_600 + n
            if n == 3:
                m.message.insert(0, Reply(id="1"))
            return AstrMessageEvent(text, m, PlatformMetadata("aiocqhttp", "", "qq"), str(group))

        async def run(self, event: Any) -> list[str]:
            (said,) = handlers(EventType.AdapterMessageEvent)
            return [r.get_plain_text() async for r in said(star, event)]

        async def say(self, n: int, author: int, text: str, *, to_bot: bool = False) -> list[str]:
            event = self.event(n, author, text)
            event.is_at_or_wake_command = to_bot
            answers = await self.run(event)
            if not to_bot or event.is_stopped():
                return answers
            # AstrBot's own model answers.
            request = ProviderRequest(prompt=text, system_prompt="You are AstrBot.")
            for before in handlers(EventType.OnLLMRequestEvent):
                await before(star, event, request)
            surroundings.asked.append({"messages": [{"role": "system", "content": request.system_prompt}]})
            surroundings.meanwhile()
            response = LLMResponse("assistant", completion_text="At eight.")
            for after in handlers(EventType.OnLLMResponseEvent):
                await after(star, event, response)
            return [response.completion_text]

        async def delete(self, n: int, author: int) -> None:
            raw = {"notice_type": "group_recall", "message_id": n, "time": 1_767_226_000, "group_id": group}
            assert await self.run(self.event(0, author, "", raw)) == []

    await AstrBot().play(star.memory, server, surroundings, operations)
    assert not kept
    await star.terminate()


def user(number: int, name: str, *, bot: bool = False) -> dict[str, Any]:
    return {"id": str(number), "username": name, "discriminator": "0", "global_name": name, "avatar": None, "bot": bot}


def message(n: int, author: int, content: str, channel: int) -> dict[str, Any]:
    """A message as Discord's gateway has it."""
    return {
        "id": str(n), "guild_id": "9", "channel_id": str(channel), "author": user(author, f"member {author}"),
        "content": content,
        "timestamp": "2026-01-01T00:00:00.000000+00:00", "edited_timestamp": None, "tts": False, "type": 0,
        "mention_everyone": False, "mentions": [], "mention_roles": [], "attachments": [], "embeds": [],
        "pinned": False, "flags": 0, "components": [],
    }  # fmt: skip


GUILD: dict[str, Any] = {
    "id": "9", "name": "Books", "icon": None, "splash": None, "owner_id": "18402301", "afk_timeout": 60, "features": [],
    "verification_level": 0, "default_message_notifications": 0, "explicit_content_filter": 0, "mfa_level": 0,
    "roles": [], "emojis": [], "stickers": [], "members": [], "threads": [], "presences": [], "voice_states": [],
    "member_count": 3, "large": False, "premium_tier": 0, "preferred_locale": "en-US", "nsfw_level": 0,
}  # fmt: skip
CHANNEL: dict[str, Any] = {
    "type": 0, "name": "general", "position": 0, "permission_overwrites": [], "parent_id": None, "nsfw": False,
}  # fmt: skip
