"""Both clients against the binary, with a PostgreSQL of its own."""

from __future__ import annotations

import asyncio
import http.server
import queue
import threading
from collections.abc import AsyncIterator, Iterator
from datetime import datetime, timedelta, timezone
from typing import ClassVar

import pytest
from reverie_memory import (
    AsyncReverie,
    Conflict,
    Forbidden,
    Invalid,
    Message,
    Middleware,
    NotFound,
    Retry,
    Reverie,
    TimedOut,
    Unauthorized,
    Unreachable,
    WebhookError,
    verify_webhook,
)
from server import Server

START = datetime(2026, 1, 15, 12, tzinfo=timezone.utc)
MEETING = "We meet every Friday at eight in the library."


def said(n: int, text: str = MEETING, author: str = "Ann") -> Message:
    return {
        "id": str(n),
        "author": author,
        "author_id": author.lower(),
        "text": text,
        "sent_at": START + timedelta(seconds=n),
    }


def test_a_day_of_a_bot(reverie: Reverie, group: str) -> None:
    added = reverie.remember([said(1), said(2, "I like green tea.")])
    assert (added["success"], added["new"], added["group_id"]) == (True, 2, group)
    assert reverie.remember([said(1), said(2, "I like green tea.")])["known"] == 2
    done = reverie.evolve()
    assert done["success"]
    context = reverie.context("When do we meet?", session="s1")
    assert "Friday" in context["text"]
    feedback = reverie.feedback("Every Friday at eight.", session="s1") if "usage_id" in context else None
    assert feedback is None or feedback["success"]
    written = reverie.add_memory({"statement": "The library is in Mill Street.", "reason": "Ann asked for it."})
    assert [m["statement"] for m in reverie.memories(page=1) if m["memory_id"] == written["memory_id"]]
    assert reverie.search("library", threshold=0)["results"]
    assert list(reverie.entities(page=1)) == list(reverie.entities())


async def test_a_day_of_an_async_bot(areverie: AsyncReverie) -> None:
    async def stream() -> AsyncIterator[Message]:
        for n in range(3):
            yield said(n)

    assert (await areverie.remember(stream()))["new"] == 3
    assert (await areverie.evolve())["success"]
    assert "Friday" in (await areverie.context("When do we meet?"))["text"]
    written = await areverie.add_memory({"statement": "The library is in Mill Street.", "reason": "Ann asked."})
    edited = await areverie.edit_memory(
        written["memory_id"], {"statement": "The library is in Mill Lane.", "reason": "It moved."}
    )
    with pytest.raises(Conflict) as caught:  # an old version
        await areverie.edit_memory(written["memory_id"], {"statement": "It burnt down.", "reason": "No."})
    assert caught.value.problem["head_id"] == edited["memory_id"]
    assert len((await areverie.get_memory_history(edited["memory_id"]))["history"]) == 2
    await areverie.delete_memory(edited["memory_id"], reason="It burnt down.")
    assert edited["memory_id"] not in [m["memory_id"] async for m in areverie.memories()]
    assert [r["run_id"] for r in (await areverie.list_runs(group=areverie.group))["runs"]]


def test_ten_thousand_messages(reverie: Reverie) -> None:
    def stream() -> Iterator[Message]:
        for n in range(10_000):
            yield said(n, f"Message {n}: see you on day {n}.")

    added = reverie.remember(stream())
    assert (added["new"], added["bad_count"]) == (10_000, 0)
    assert reverie.remember(stream())["known"] == 10_000


def test_bad_lines(reverie: Reverie) -> None:
    added = reverie.remember([said(1), {"id": "2", "text": "nobody says it", "sent_at": START}, said(3)])
    assert (added["success"], added["new"], added["bad_count"]) == (False, 2, 1)
    assert added["bad"][0]["line"] == 2
    with pytest.raises(Invalid) as caught:
        reverie.remember({"id": "2", "text": "nobody says it", "sent_at": START})
    assert caught.value.errors[0]["location"] == "body.line 1"


def test_errors(server: Server, reverie: Reverie, group: str) -> None:
    reverie.remember(said(1))
    with pytest.raises(Invalid, match="max_tokens") as caught:
        reverie.context(max_tokens=-1)
    assert caught.value.errors
    assert caught.value.request_id
    with pytest.raises(NotFound):
        reverie.get_memory("0197f3a0-1c2d-7e3f-8a4b-5c6d7e8f9a0b")
    with Reverie(server.url, "wrong", group=group) as nobody, pytest.raises(Unauthorized):
        nobody.context("x")
    reads = server.run("token", "create", "--group", group, "--scope", "read", "--name", "reader")
    with Reverie(server.url, reads, group=group) as reader:
        assert reader.context("x")["success"]
        with pytest.raises(Forbidden):
            reader.remember(said(2))
        with pytest.raises(NotFound):
            reader.context("x", group="another")
    with Reverie("http://127.0.0.1:9", retry=Retry(attempts=2, base=0.01)) as away, pytest.raises(Unreachable):
        away.list_groups()


def test_a_timeout(server: Server) -> None:
    with Reverie(server.url, server.token, retry=Retry(attempts=1), timeout=1e-5) as client, pytest.raises(TimedOut):
        client.list_groups()


def test_a_restart_is_survived(server: Server, reverie: Reverie) -> None:
    """The server goes while messages stream in, and comes back: all are there, once."""
    gone = threading.Event()

    def restart() -> None:
        server.stop()
        gone.set()
        server.start()

    thread = threading.Thread(target=restart)

    def stream() -> Iterator[Message]:
        for n in range(3_000):
            if n == 1_000:
                thread.start()
                assert gone.wait(60)
            yield said(n, f"Message {n}")

    reverie.retry = Retry(attempts=200, longest=0.5)
    reverie.remember(stream())
    thread.join()
    added = reverie.remember(said(n, f"Message {n}") for n in range(3_000))
    assert (added["known"], added["new"]) == (3_000, 0)


async def test_cancelled_calls_leave_a_client_that_works(areverie: AsyncReverie) -> None:
    await areverie.remember(said(1))
    tasks = [asyncio.create_task(areverie.context(f"question {n}")) for n in range(20)]
    await asyncio.sleep(0)
    for task in tasks:
        task.cancel()
    assert all(isinstance(r, asyncio.CancelledError) for r in await asyncio.gather(*tasks, return_exceptions=True))
    assert (await areverie.context("x"))["success"]


def test_the_middleware(server: Server, reverie: Reverie, group: str) -> None:
    with Middleware(Reverie(server.url, server.token, group=group), context_timeout=30) as memory:
        memory.remember([said(1)])
        assert memory.flush(60)
        turn = memory.turn("When do we meet?")
        assert "Friday" in turn.system
        turn.answered("Every Friday at eight.")
        assert memory.flush(60)
        assert (memory.dropped, memory.missed) == (0, 0)
    messages = reverie.list_messages()["messages"]
    assert [m["text"] for m in messages] == [MEETING, "Every Friday at eight."]


# --- what newer servers do ---


def needs(operations: set[str], *names: str) -> None:
    if missing := set(names) - operations:
        pytest.skip(f"this server has no {', '.join(sorted(missing))}")


def test_edits_deletions_and_reactions(reverie: Reverie, operations: set[str]) -> None:
    needs(operations, "edit-message", "delete-message")
    reverie.remember([said(1), said(2, "I like green tea.")])
    reverie.edit_message("1", "We meet every Monday at nine in the library.")
    assert "Monday" in reverie.context("When do we meet?")["text"]
    reverie.react("1", "👍", "bob")
    reverie.delete_message("1")
    reverie.remember({"id": "2", "deleted_at": START + timedelta(days=1)})
    assert "Monday" not in reverie.context("When do we meet?")["text"]
    assert "tea" not in reverie.context("green tea")["text"]


def test_a_person_asks_and_is_forgotten(reverie: Reverie, operations: set[str]) -> None:
    needs(operations, "get-author-memories", "forget-author")
    reverie.remember([said(1, "I moved to Lisbon in May."), said(2, MEETING, "Bob")])
    reverie.evolve()
    assert reverie.what_about("ann")["success"]
    reverie.forget("ann", dry_run=True)
    assert "Lisbon" in str(reverie.list_messages())
    reverie.forget("ann")
    reverie.forget("ann")
    assert "Lisbon" not in str(
        [*reverie.memories(status="all"), reverie.list_messages(), reverie.context("Lisbon")["text"]]
    )
    assert "library" in str(reverie.list_messages())


class Receiver(http.server.BaseHTTPRequestHandler):
    """Takes webhooks, headers and bodies."""

    got: ClassVar[queue.Queue[tuple[dict[str, str], bytes]]] = queue.Queue()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.got.put((dict(self.headers), body))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def test_webhooks(reverie: Reverie, group: str, operations: set[str]) -> None:
    needs(operations, "add-webhook", "test-webhook")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver) as receiver:
        threading.Thread(target=receiver.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        url = f"http://127.0.0.1:{receiver.server_port}/"
        hook = reverie.add_webhook({"url": url, "group_id": group, "events": ["memory.created"]})
        secret = hook["secret"]
        assert [w["url"] for w in reverie.list_webhooks(group=group)["webhooks"]] == [url]
        assert reverie.test_webhook(hook["webhook_id"])["success"]
        headers, body = Receiver.got.get(timeout=60)
        assert verify_webhook(headers, body, secret)["type"] == "webhook.test"
        reverie.add_memory({"statement": "The library is in Mill Street.", "reason": "Ann asked for it."})
        headers, body = Receiver.got.get(timeout=60)
        event = verify_webhook(headers, body, secret)
        assert (event["type"], event["data"]["group_id"]) == ("memory.created", group)
        assert event["data"]["statement"] == "The library is in Mill Street."
        with pytest.raises(WebhookError):
            verify_webhook(headers, body.replace(b"Mill", b"Hill"), secret)
        reverie.delete_webhook(hook["webhook_id"])
        assert reverie.list_webhooks(group=group)["webhooks"] == []
        receiver.shutdown()
