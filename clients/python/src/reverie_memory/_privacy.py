"""What a bot answers people who ask what it remembers of them, or want to be forgotten."""

from __future__ import annotations

import logging
import re
import unicodedata
from typing import TYPE_CHECKING, Literal, NamedTuple

from ._sync import Reverie
from .errors import NotFound, ReverieError

if TYPE_CHECKING:
    from .middleware import Middleware

log = logging.getLogger("reverie_memory")

LISTED = 20  # memories of an answer


class Wish(NamedTuple):
    what: Literal["show", "forget"]
    language: Literal["en", "zh"]


# Whole messages, without marks and the name of a bot.
_WISHES = {
    Wish("show", "en"): r"(please )?what do you (still )?(remember|know) (of|about) me|(show )?my memories",
    Wish("forget", "en"): r"(please )?forget (all )?(about )?me",
    Wish(
        "show", "zh"
    ): r"(请问)?你?(还|都)*(记得|记住了?|知道)(关于)?我(的)?(什么|哪些|些什么|哪些事|什么事)?吗?|我的记忆",
    Wish("forget", "zh"): r"(请)?你?(忘记|忘掉|忘了)我(吧)?|(请)?你?把我(忘了|忘掉|忘记)(吧)?",
}

_TEXTS = {
    "en": {
        "nothing": "I remember nothing of you.",
        "show": "I keep {messages} of your messages, and remember {total} things from you or about you.",
        "more": "… and {n} more.",
        "how": "Write “forget me”, and I erase all of it for good.",
        "forgot": "I have forgotten you: {messages} messages, with my answers, and {memories} memories are erased.",
        "failed": "I cannot do that at the moment, and nothing has changed. Please ask again later.",
    },
    "zh": {
        "nothing": "我没有关于你的记忆。",
        "show": "我保存了你的 {messages} 条消息，记得 {total} 件你说过的或与你有关的事。",
        "more": "……还有 {n} 件。",
        "how": "对我说“忘记我”，我就会永久删除这一切。",
        "forgot": "我已经忘记你了：永久删除了 {messages} 条消息（包括我的回答）和 {memories} 条记忆。",
        "failed": "我现在做不到，什么都没有改变。请稍后再试。",
    },
}


def wish_of(text: str) -> Wish | None:
    """What a message wants, if it is nothing but that wish."""
    text = re.sub(r"@\S+", " ", unicodedata.normalize("NFKC", text).casefold())
    words = " ".join(re.findall(r"\w+", text.replace("_", " ")))
    return next((wish for wish, pattern in _WISHES.items() if re.fullmatch(pattern, words)), None)


def fulfil(memory: Middleware, wish: Wish, author_id: str, group: str) -> str:
    """Does what a person wants, and says what was done."""
    say = _TEXTS[wish.language]
    try:
        if wish.what == "show":
            return _show(memory.client, say, author_id, group)
        receipt = memory.forget(author_id, group=group)
        return say["forgot"].format(messages=receipt.get("messages", 0), memories=receipt.get("erased", 0))
    except NotFound:
        if not _known(memory.client, group):
            return say["nothing"]
        log.exception("this server cannot show or forget a person")
    except ReverieError:
        log.exception("a person's wish was not fulfilled")
    return say["failed"]


def _show(client: Reverie, say: dict[str, str], author_id: str, group: str) -> str:
    reply = client.what_about(author_id, group=group)
    memories = reply["memories"]
    if not memories and not reply["messages"]:
        return say["nothing"]
    lines = [say["show"].format(**reply), *(f"- {m['statement']}" for m in memories[:LISTED])]
    if len(memories) > LISTED:
        lines.append(say["more"].format(n=len(memories) - LISTED))
    return "\n".join([*lines, say["how"]])


def _known(client: Reverie, group: str) -> bool:
    try:
        client.get_group(group=group)
    except ReverieError as e:
        return not isinstance(e, NotFound)
    return True
