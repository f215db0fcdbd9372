"""What the sync and the async client do with answers of all kinds, which a made-up server gives."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import date, datetime, timedelta, timezone
from typing import Any

import httpx
import pytest
import reverie_memory
from reverie_memory import APIError, AsyncReverie, BadAnswer, Message, Retry, Reverie, TimedOut, Unreachable, _core
from reverie_memory._core import Lines, path_of

Handler = Callable[[httpx.Request], httpx.Response]
NOON = datetime(2026, 1, 15, 12, tzinfo=timezone.utc)


class Fake:
    """Answers as it is told, one after the other, the last one again and again."""

    def __init__(self, *answers: httpx.Response | Exception) -> None:
        self.answers = list(answers)
        self.seen: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.seen.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)

    @property
    def bodies(self) -> list[Any]:
        return [json.loads(r.content) if r.content else None for r in self.seen]


class Awaited:
    """A sync client whose calls are awaited, so that one test is for both."""

    def __init__(self, client: Reverie) -> None:
        self.client = client

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.client, name)

        async def call(*args: Any, **kwargs: Any) -> Any:
            return method(*args, **kwargs)

        if name in ("memories", "entities"):
            return lambda **kwargs: stream(method(**kwargs))
        return call


async def stream(items: Iterator[Any]) -> Any:
    for item in items:
        yield item


class Maker:
    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.slept: list[float] = []

    def __call__(self, handler: Handler, **options: Any) -> Any:
        options = {"base_url": "http://reverie.test", "token": "secret", "group": "g1", **options}
        transport = httpx.MockTransport(handler)
        if self.kind == "sync":
            client = Reverie(**options, transport=transport)
            client._sleep = self.slept.append  # type: ignore[assignment]
            return Awaited(client)

        async def sleep(seconds: float) -> None:
            self.slept.append(seconds)

        aclient = AsyncReverie(**options, transport=transport)
        aclient._sleep = sleep  # type: ignore[assignment]
        return aclient


@pytest.fixture(params=["sync", "async"])
def make(request: pytest.FixtureRequest) -> Maker:
    return Maker(request.param)


def ok(value: Any, status: int = 200, **headers: str) -> httpx.Response:
    return httpx.Response(status, json=value, headers=headers)


def problem(status: int, **more: Any) -> httpx.Response:
    headers = {"Retry-After": str(more.pop("after"))} if "after" in more else {}
    body = {"type": "about:blank", "title": "T", "status": status, "detail": "why", "instance": "r1", **more}
    return httpx.Response(status, json=body, headers=headers)


ADDED = {"success": True, "group_id": "g1", "new": 1, "known": 0, "bad_count": 0}


async def test_a_request(make: Maker) -> None:
    fake = Fake(ok({"success": True, "text": "", "a new field": [1]}))
    reply = await make(fake).context("when?", session="s1", at=NOON)
    (request,) = fake.seen
    assert (request.method, request.url.path) == ("POST", "/v1/groups/g1/context")
    assert request.headers["Authorization"] == "Bearer secret"
    assert request.headers["Content-Type"] == "application/json"
    assert fake.bodies == [{"query": "when?", "session_id": "s1", "at": "2026-01-15T12:00:00+00:00"}]
    assert reply["a new field"] == [1]


async def test_paths_and_queries(make: Maker) -> None:
    fake = Fake(ok({"results": []}))
    client = make(fake, base_url="http://reverie.test/under/")
    await client.search("a&b 茶", group="g/1?ä", limit=3)
    assert fake.seen[0].url.raw_path == b"/under/memory/search/g%2F1%3F%C3%A4?q=a%26b+%E8%8C%B6&limit=3"
    await client.get_memory_diff(date.today().isoformat(), recorded=True, group="..")
    assert fake.seen[1].url.raw_path.startswith(b"/under/v1/groups/%2E%2E/diff?from=")
    assert b"recorded=true" in fake.seen[1].url.raw_path
    with pytest.raises(ValueError, match="memory_id is empty"):
        await client.get_memory("")
    with pytest.raises(ValueError, match="no time zone"):
        await client.context(at=datetime(2026, 1, 1))


async def test_a_group_must_be_named(make: Maker) -> None:
    with pytest.raises(ValueError, match="no group is named"):
        await make(Fake(ok({})), group=None).context("when?")


@pytest.mark.parametrize(
    ("status", "name"),
    [
        (400, "BadRequest"), (401, "Unauthorized"), (403, "Forbidden"), (404, "NotFound"), (409, "Conflict"),
        (412, "Conflict"), (413, "BadRequest"), (415, "BadRequest"), (422, "Invalid"), (428, "Conflict"),
        (429, "TooManyRequests"), (500, "ServerError"), (502, "Unavailable"), (503, "Unavailable"),
        (504, "Unavailable"),
    ],
)  # fmt: skip
async def test_problems(make: Maker, status: int, name: str) -> None:
    fake = Fake(problem(status, errors=[{"location": "query.q", "message": "no"}], head_id="h"))
    with pytest.raises(getattr(reverie_memory, name)) as caught:
        await make(fake, retry=Retry(attempts=1)).get_memory("m1")
    e: APIError = caught.value
    assert type(e).__name__ == name
    assert (e.status, e.title, e.detail, e.request_id) == (status, "T", "why", "r1")
    assert e.errors == [{"location": "query.q", "message": "no"}]
    assert e.problem["head_id"] == "h"
    assert str(e) == f"{status} T: why (query.q: no) (request r1)"
    assert len(fake.seen) == 1


async def test_a_problem_of_a_proxy(make: Maker) -> None:
    fake = Fake(httpx.Response(502, text="<html>Bad Gateway"))
    with pytest.raises(reverie_memory.Unavailable, match="502 Bad Gateway: this is no answer of Reverie"):
        await make(fake, retry=Retry(attempts=2)).get_memory("m1")
    assert len(fake.seen) == 2


async def test_a_model_is_not_paid_again(make: Maker) -> None:
    """502 and 504 of Reverie itself are not those of a proxy."""
    for status in (500, 502, 504):
        fake = Fake(problem(status, after=0))
        with pytest.raises(reverie_memory.ServerError):
            await make(fake).get_memory("m1")
        assert len(fake.seen) == 1


@pytest.mark.parametrize("text", ["<html>", "", "null", "[]", '{"cut":'])
async def test_an_answer_that_is_no_object(make: Maker, text: str) -> None:
    with pytest.raises(BadAnswer, match="is this Reverie's address"):
        await make(Fake(httpx.Response(200, text=text))).get_memory("m1")


@pytest.mark.parametrize("address", ["localhost:8470", "127.0.0.1:8470", "ftp://x", "http://"])
def test_an_address_is_one_of_http(address: str) -> None:
    for kind in (Reverie, AsyncReverie):
        with pytest.raises(ValueError, match="base_url"):
            kind(address)


async def test_an_answer_that_cannot_be_unpacked(make: Maker) -> None:
    with pytest.raises(Unreachable, match="decompress"):
        await make(Fake(httpx.DecodingError("decompress"))).get_memory("m1")


async def test_redirects_get_no_token(make: Maker) -> None:
    fake = Fake(httpx.Response(302, headers={"Location": "http://elsewhere.test/"}))
    with pytest.raises(reverie_memory.BadRequest, match=r"302.*use http://elsewhere\.test/"):
        await make(fake).get_memory("m1")
    assert len(fake.seen) == 1


async def test_back_off(make: Maker) -> None:
    fake = Fake(*[problem(503)] * 9)
    with pytest.raises(reverie_memory.Unavailable):
        await make(fake, retry=Retry(attempts=4, base=1, longest=3)).get_memory("m1")
    assert len(fake.seen) == 4
    for slept, most in zip(make.slept, [1, 2, 3], strict=True):
        assert most / 2 <= slept <= most


async def test_a_lost_answer_is_asked_for_again(make: Maker) -> None:
    fake = Fake(httpx.ReadError("gone"), httpx.RemoteProtocolError("gone"), ok({"success": True}))
    assert await make(fake).get_memory("m1") == {"success": True}
    assert len(make.slept) == 2


async def test_retry_after(make: Maker) -> None:
    fake = Fake(problem(429, after=7), ok({"success": True}))
    assert await make(fake).undo_run("r1", {"dry_run": True}) == {
        "success": True
    }  # nothing was done, so it may be sent
    assert make.slept == [7]


async def test_retry_after_that_is_too_long(make: Maker) -> None:
    with pytest.raises(reverie_memory.TooManyRequests) as caught:
        await make(Fake(problem(429, after=3600))).get_memory("m1")
    assert caught.value.retry_after == 3600
    assert make.slept == []


async def test_what_is_not_idempotent_is_sent_once(make: Maker) -> None:
    failures: list[httpx.Response | Exception] = [httpx.ReadError("gone"), problem(500), problem(502), problem(409)]
    for answer in [*failures, problem(503, after=1), problem(504, after=1)]:
        fake = Fake(answer)
        with pytest.raises(reverie_memory.ReverieError):
            await make(fake).add_memory({"statement": "s", "reason": "r"})
        assert len(fake.seen) == 1
    fake = Fake(httpx.ConnectError("refused"), ok({"success": True}))  # this one was never sent
    await make(fake).add_memory({"statement": "s", "reason": "r"})
    assert len(fake.seen) == 2
    for undone in (problem(429), problem(409, after=1)):  # these did nothing
        fake = Fake(undone, ok({"success": True}))
        await make(fake).add_memory({"statement": "s", "reason": "r"})
        assert len(fake.seen) == 2


async def test_a_team_memory_is_written_once(make: Maker) -> None:
    fake = Fake(httpx.ReadError("gone"), ok({"id": "t1"}), ok({"id": "t2"}))
    client, body = make(fake), reverie_memory.models.TeamBody(statement="s")
    await client.put_team_memory("t1", body, if_none_match="*")
    await client.put_team_memory("t2", body, if_none_match="*", idempotency_key="mine")
    first, again, other = (request.headers["Idempotency-Key"] for request in fake.seen)
    assert first == again
    assert len(first) == 36
    assert other == "mine"


async def test_unreachable_and_timed_out(make: Maker) -> None:
    with pytest.raises(Unreachable, match="GET /memory/m1: refused") as caught:
        await make(Fake(httpx.ConnectError("refused")), retry=Retry(attempts=3)).get_memory("m1")
    assert isinstance(caught.value.__cause__, httpx.ConnectError)
    with pytest.raises(TimedOut):
        await make(Fake(httpx.ReadTimeout("slow")), retry=Retry(attempts=1)).get_memory("m1")


async def test_timeouts_go_down(make: Maker) -> None:
    fake = Fake(ok({}))
    client = make(fake, timeout=3)
    await client.get_memory("m1")
    await client.get_memory("m1", timeout=0.5)
    assert [r.extensions["timeout"]["read"] for r in fake.seen] == [3, 0.5]


# --- messages ---


async def test_messages_are_lines(make: Maker) -> None:
    fake = Fake(ok(ADDED))
    messages: list[Message] = [
        {"id": "1", "author": "Ann", "text": "two\nlines 茶 \ud83d", "sent_at": NOON},
        {"id": "1", "text": "new", "edited_at": NOON},
        {"id": "1", "deleted_at": "2026-01-15T12:00:00Z"},
        {"id": "1", "reactions": [{"emoji": "👍", "author_id": "u1", "count": 1}]},
    ]
    await make(fake).remember(messages)
    (request,) = fake.seen
    assert request.headers["Content-Type"] == "application/x-ndjson"
    assert [json.loads(line) for line in request.content.splitlines()] == [
        {"id": "1", "author": "Ann", "text": "two\nlines 茶 ?", "sent_at": "2026-01-15T12:00:00+00:00"},
        {"id": "1", "text": "new", "edited_at": "2026-01-15T12:00:00+00:00"},
        {"id": "1", "deleted_at": "2026-01-15T12:00:00Z"},
        {"id": "1", "reactions": [{"emoji": "👍", "author_id": "u1", "count": 1}]},
    ]


async def test_ten_thousand_messages_of_a_generator(make: Maker) -> None:
    asked = 0

    def said() -> Iterator[Message]:
        nonlocal asked
        for i in range(10_000):
            asked += 1
            yield {"id": str(i), "author": "Ann", "text": f"message {i}", "sent_at": NOON + timedelta(seconds=i)}

    counts: list[int] = []

    def take(request: httpx.Request) -> httpx.Response:
        counts.append(len(request.content.splitlines()))
        assert asked == sum(counts)  # no more is read than was sent
        return ok({**ADDED, "new": counts[-1], "filtered": {"empty": 1}})

    added = await make(take).remember(said())
    assert (added["new"], added["filtered"], added["success"]) == (10_000, {"empty": 20}, True)
    assert counts == [500] * 20


async def test_large_messages_make_small_batches(make: Maker) -> None:
    fake = Fake(ok(ADDED))
    await make(fake).remember({"id": str(i), "author": "Ann", "text": "x" * 300_000} for i in range(8))
    assert len(fake.seen) == 2
    assert all(len(r.content) < 2 << 20 for r in fake.seen)


async def test_no_messages(make: Maker) -> None:
    fake = Fake(ok(ADDED))
    assert (await make(fake).remember([]))["new"] == 0
    assert fake.seen == []


async def test_ids_are_made_once(make: Maker) -> None:
    fake = Fake(httpx.ReadError("gone"), ok(ADDED))
    client = make(fake)
    ok_twice: list[Message] = [{"author": "Ann", "text": "ok", "sent_at": NOON}] * 2
    said = [*ok_twice, Message(author="Ann", text="now")]
    await client.remember(said)
    await client.remember(said)
    sent = [[json.loads(line) for line in r.content.splitlines()] for r in fake.seen]
    assert sent[0] == sent[1]  # the retry
    ids = [[m["id"] for m in batch] for batch in sent[1:]]
    assert ids[0][:2] == ids[1][:2]
    assert len(set(ids[0])) == 3
    assert ids[0][2] != ids[1][2]  # said at two times
    assert sent[0][2]["sent_at"]


async def test_a_change_needs_an_id(make: Maker) -> None:
    with pytest.raises(ValueError, match="needs the id"):
        await make(Fake(ok(ADDED))).remember({"text": "new", "edited_at": NOON})


async def test_bad_lines_are_numbered_through(make: Maker) -> None:
    one_bad = {**ADDED, "success": False, "new": 499, "bad": [{"line": 3, "reason": "why"}], "bad_count": 1}
    all_bad = problem(422, errors=[{"location": "body.line 1", "message": "not one"}])
    messages: list[Message] = [{"id": str(i), "author": "Ann", "text": "x"} for i in range(1001)]
    added = await make(Fake(ok(one_bad), ok(one_bad), all_bad)).remember(messages)
    assert (added["success"], added["new"], added["bad_count"]) == (False, 998, 3)
    assert added["bad"] == [
        {"line": 3, "reason": "why"}, {"line": 503, "reason": "why"}, {"line": 1001, "reason": "not one"},
    ]  # fmt: skip
    with pytest.raises(reverie_memory.Invalid):
        await make(Fake(all_bad)).remember(messages)


def test_naive_times_are_refused() -> None:
    with pytest.raises(ValueError, match="no time zone"):
        Lines("g1").add({"author": "Ann", "text": "x", "sent_at": datetime(2026, 1, 1)})


# --- pages, runs, privacy ---


async def test_pages(make: Maker) -> None:
    def page(request: httpx.Request) -> httpx.Response:
        at, limit = int(request.url.params["offset"]), int(request.url.params["limit"])
        rows = [{"memory_id": str(i)} for i in range(at, min(at + limit, 450))]
        return ok({"total": 450, "memories": rows, "entities": rows})

    client = make(page)
    assert [m["memory_id"] async for m in client.memories()] == [str(i) for i in range(450)]
    assert len([e async for e in client.entities(page=7, kind="person")]) == 450


async def test_evolve_that_answers_at_once(make: Maker) -> None:
    fake = Fake(ok({"success": True, "group_id": "g1", "stats": {}, "changes": []}))
    assert (await make(fake).evolve(days=3))["success"]
    assert fake.seen[0].url.params["days"] == "3"


RUN = {"group_id": "g1", "run_id": "r1", "status": "running", "stats": {"kept": 1}, "finished_at": None}


async def test_evolve_is_waited_for(make: Maker) -> None:
    done = {**RUN, "status": "succeeded", "finished_at": "2026-01-15T12:00:00Z"}
    fake = Fake(
        ok({"success": True, "group_id": "g1", "status": "running"}, 202, Location="/v1/runs/r1"),
        ok({"run": RUN, "changes": []}),
        ok({"run": done, "changes": [{"action": "create"}]}),
    )
    assert await make(fake).evolve() == {
        "success": True, "group_id": "g1", "run_id": "r1", "status": "succeeded", "stats": {"kept": 1},
        "changes": [{"action": "create"}], "evolution_time": "2026-01-15T12:00:00Z",
    }  # fmt: skip
    assert [r.url.path for r in fake.seen] == ["/memory/evolve/g1", "/v1/runs/r1", "/v1/runs/r1"]
    assert make.slept == [2]


async def test_evolve_is_not_waited_for_forever(make: Maker) -> None:
    fake = Fake(ok({"status": "running"}, 202, Location="/v1/runs/r1"), ok({"run": RUN, "changes": []}))
    with pytest.raises(TimedOut, match="still goes on"):
        await make(fake).evolve(wait=5)
    assert sum(make.slept) == 5


async def test_an_evolve_that_waits_for_its_turn_is_asked_for_again(make: Maker) -> None:
    reply = {"success": True, "group_id": "g1", "stats": {}, "changes": []}
    fake = Fake(ok({"success": True, "group_id": "g1", "status": "running"}, 202), ok(reply))
    assert await make(fake).evolve() == reply
    assert [r.method for r in fake.seen] == ["POST", "POST"]


async def test_the_routes_of_people(make: Maker) -> None:
    fake = Fake(ok({"success": True, "memories": [], "total": 0}))
    client = make(fake)
    await client.edit_message("m/1", "new", edited_at=NOON)
    await client.delete_message("m/1")
    await client.what_about("u/1")
    await client.forget("u/1", dry_run=True)
    await client.react("m/1", "👍", "u1")
    assert [(r.method, r.url.raw_path.decode()) for r in fake.seen] == [
        ("PATCH", "/v1/groups/g1/messages/m%2F1"),
        ("DELETE", "/v1/groups/g1/messages/m%2F1"),
        ("GET", "/v1/groups/g1/authors/u%2F1/memories?limit=200"),
        ("POST", "/v1/groups/g1/authors/u%2F1/forget"),
        ("POST", "/v1/groups/g1/messages"),
    ]
    assert fake.bodies[0] == {"text": "new", "edited_at": "2026-01-15T12:00:00+00:00"}
    assert fake.bodies[3] == {"dry_run": True}
    assert fake.bodies[4] == {"id": "m/1", "reactions": [{"emoji": "👍", "author_id": "u1", "count": 1}]}


async def test_all_about_a_person(make: Maker) -> None:
    def page(request: httpx.Request) -> httpx.Response:
        at, limit = int(request.url.params.get("offset", 0)), int(request.url.params["limit"])
        return ok({"success": True, "total": 450, "memories": [{"n": n} for n in range(at, min(450, at + limit))]})

    assert [m["n"] for m in (await make(page).what_about("u1"))["memories"]] == list(range(450))


async def test_people_are_forgotten_over_lost_connections(make: Maker) -> None:
    fake = Fake(httpx.ReadError("gone"), problem(503, after=1), ok({"success": True}))
    await make(fake).forget("u1")
    assert len(fake.seen) == 3


async def test_feedback_names_its_context(make: Maker) -> None:
    fake = Fake(httpx.ReadError("gone"), ok({"success": True}))
    await make(fake).feedback("At eight.", usage_id="c1")
    assert fake.bodies[1] == {"response": "At eight.", "usage_id": "c1"}
    fake = Fake(httpx.ReadError("gone"))
    with pytest.raises(Unreachable):  # a second one could be for another context
        await make(fake).feedback("At eight.", session="s1")
    assert len(fake.seen) == 1


async def test_all_else(make: Maker) -> None:
    fake = Fake(ok({"n": 1}), httpx.Response(204))
    client = make(fake)
    assert await client.request("POST", "/v1/new", body={"a": 1}, query={"b": None, "c": True}) == {"n": 1}
    assert fake.seen[0].url.query == b"c=true"
    assert await client.request("DELETE", "/v1/new/1") is None


def test_path_of() -> None:
    assert path_of("/a/{b}/c/{d}", "x/y", "..") == "/a/x%2Fy/c/%2E%2E"


# --- streams, and cancellation ---


async def test_a_message_of_a_live_stream_waits_for_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """The chat goes on, and what was said so far is stored. Cancelling ends the stream, too."""
    monkeypatch.setattr(_core, "LINGER", 0.01)
    stored, ended = asyncio.Event(), asyncio.Event()

    def store(request: httpx.Request) -> httpx.Response:
        stored.set()
        return ok({"success": True, "group_id": "g1", "new": 1, "known": 0, "bad_count": 0})

    async def chat() -> AsyncIterator[Message]:
        try:
            yield {"id": "1", "author": "Ann", "text": "x"}
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with AsyncReverie("http://r.test", group="g1", transport=httpx.MockTransport(store)) as client:
        task = asyncio.create_task(client.remember(chat()))
        await asyncio.wait_for(stored.wait(), 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(ended.wait(), 60)


async def test_a_stream_that_fails_fails_the_call() -> None:
    async def chat() -> AsyncIterator[Message]:
        yield {"id": "1", "author": "Ann", "text": "x"}
        raise KeyError("chat")

    async with AsyncReverie("http://r.test", group="g1") as client:
        with pytest.raises(KeyError, match="chat"):
            await client.remember(chat())


async def test_cancelling_ends_the_request() -> None:
    """The server sees the connection close, also while it thinks."""
    closed = asyncio.Event()
    asked = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        asked.set()
        while await reader.read(1000):
            pass
        closed.set()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()
        async with AsyncReverie(f"http://{host}:{port}", group="g1") as client:
            task = asyncio.create_task(client.get_memory("m1"))
            await asyncio.wait_for(asked.wait(), 30)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.wait_for(closed.wait(), 30)


def test_a_client_serves_threads() -> None:
    fake = Fake(ok(ADDED))
    with Reverie("http://reverie.test", group="g1", transport=httpx.MockTransport(fake)) as client:
        threads = [threading.Thread(target=client.remember, args=({"author": "Ann", "text": "x"},)) for _ in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert len(fake.seen) == 8
