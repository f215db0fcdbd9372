"""What a bot answers who asks what it remembers of them, or wants to be forgotten."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest
from reverie_memory import Middleware, Retry, Reverie
from reverie_memory._privacy import wish_of


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("What do you remember of me?", ("show", "en")),
        ("@rev what do you know about me", ("show", "en")),
        ("/my_memories@rev_bot", ("show", "en")),
        ("Forget me!", ("forget", "en")),
        ("/forget_me", ("forget", "en")),
        ("please forget about me.", ("forget", "en")),
        ("你记得我什么？", ("show", "zh")),
        ("你还记得我吗", ("show", "zh")),
        ("你记得关于我的什么事", ("show", "zh")),
        ("忘记我", ("forget", "zh")),
        ("请把我忘了吧！", ("forget", "zh")),
        ("don't forget me", None),
        ("forget me not", None),
        ("Forget me, he said.", None),
        ("别忘了我", None),
        ("what do you remember of Ann?", None),
        ("", None),
    ],
)
def test_wishes(text: str, want: tuple[str, str] | None) -> None:
    assert wish_of(text) == want


def bot(handler: Callable[[httpx.Request], httpx.Response]) -> Middleware:
    client = Reverie("http://r.test", group="g1", transport=httpx.MockTransport(handler), retry=Retry(attempts=1))
    return Middleware(client, flush_timeout=0.1)


def answer(value: Any, status: int = 200) -> Callable[[httpx.Request], httpx.Response]:
    return lambda _: httpx.Response(status, json=value)


async def test_what_is_remembered() -> None:
    memories = [{"statement": f"thing {n}"} for n in range(25)]
    with bot(answer({"messages": 3, "total": 25, "memories": memories})) as memory:
        text = await memory.aprivacy("What do you remember of me?", "u1")
        assert text is not None
        assert text.startswith("I keep 3 of your messages, and remember 25 things")
        assert text.count("- thing") == 20
        assert "5 more" in text
        assert "与你有关" in str(memory.privacy("你记得我什么", "u1"))
        assert memory.privacy("When do we meet?", "u1") is None


async def test_nothing_is_remembered() -> None:
    with bot(answer({"messages": 0, "total": 0, "memories": []})) as memory:
        assert await memory.aprivacy("what do you know about me", "u1") == "I remember nothing of you."
    with bot(answer({"status": 404}, 404)) as memory:  # an unknown group
        assert memory.privacy("忘记我", "u1") == "我没有关于你的记忆。"


def test_forgetting_waits_for_what_was_said() -> None:
    seen: list[str] = []

    def handler(request: httpx.Request) -> httpx.Response:
        seen.append(request.url.path.rpartition("/")[2])
        return httpx.Response(
            200, json={"success": True, "new": 1, "known": 0, "bad_count": 0, "messages": 2, "erased": 1}
        )

    with bot(handler) as memory:
        memory.flush_timeout = 30
        memory.remember({"author_id": "u1", "text": "x"})
        assert (
            memory.privacy("forget me", "u1")
            == "I have forgotten you: 2 messages, with my answers, and 1 memories are erased."
        )
    assert seen == ["messages", "forget"]


@pytest.mark.parametrize("status", [409, 500, 503])
def test_a_wish_that_fails_says_so(status: int) -> None:
    with bot(answer({"status": status}, status)) as memory:
        assert "nothing has changed" in str(memory.privacy("forget me", "u1"))


def test_who_cannot_be_reached_forgets_nobody() -> None:
    """What a person has said must not come in after they are forgotten."""

    def handler(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/messages"):
            raise httpx.ConnectError("refused")
        return httpx.Response(200, json={"messages": 0, "erased": 0})

    with bot(handler) as memory:
        memory.remember({"author_id": "u1", "text": "x"})
        assert "nothing has changed" in str(memory.privacy("forget me", "u1"))


def test_a_server_that_cannot_forget_says_no_more_than_is_true() -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        known = request.url.path == "/v1/groups/g1"
        return httpx.Response(200 if known else 404, json={"status": 404})

    with bot(handler) as memory:
        assert "nothing has changed" in str(memory.privacy("forget me", "u1"))
