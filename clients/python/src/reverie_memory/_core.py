"""What the sync and the async client share: requests, answers and retries, without any connection."""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
import uuid
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any, Generic, TypedDict, TypeVar, cast
from urllib.parse import quote

import httpx

from . import models
from .errors import APIError, BadAnswer, Invalid, TimedOut, Unreachable, error_of

T = TypeVar("T")
Time = str | datetime
"""An instant: a datetime with a time zone, or text of RFC 3339."""


class Reaction(TypedDict, total=False):
    emoji: str
    author_id: str
    count: int


class Message(TypedDict, total=False):
    """A line for `remember`: a message, or what became of one that is named by its id.

    A message needs `author` or `author_id`, and `text`. Without an id it gets one made of its words, time and
    author, so that it may be sent again. Without `sent_at` it is sent now.
    """

    id: str
    author: str
    author_id: str
    text: str
    sent_at: Time
    role: str
    """user, assistant or tool; user if left out."""
    session_id: str
    reply_to: str
    edited_at: Time
    """The message has this text now."""
    deleted_at: Time
    """The message was taken back."""
    reactions: list[Reaction]


Messages = Message | Iterable[Message]
AnyMessages = Messages | AsyncIterable[Message]


@dataclass(frozen=True)
class Retry:
    """How often a request is sent again, and how long the client waits before."""

    attempts: int = 7
    """In all. 1 sends nothing again."""
    base: float = 0.25
    """Seconds before the first retry; each later one waits twice as long."""
    longest: float = 10.0
    """Seconds of the longest wait. If the server asks for more (Retry-After), the error is raised at once."""

    def delay(self, attempt: int, chance: Callable[[], float] = random.random) -> float:
        """Seconds to wait after an attempt, from 1."""
        return float(min(self.longest, self.base * 2 ** (attempt - 1))) * (0.5 + chance() / 2)


class Body:
    """What a request carries: JSON, or lines of it."""

    def __init__(self, value: Any = None, *, lines: bytes | None = None) -> None:
        self.content: bytes | None = None
        self.type = "application/json"
        if lines is not None:
            self.content, self.type = lines, "application/x-ndjson"
        elif value is not None:
            self.content = encode(value)


@dataclass
class Call(Generic[T]):
    """A request, and what may be done when it fails."""

    method: str
    path: str
    query: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, Any] = field(default_factory=dict)
    body: Body = field(default_factory=Body)
    idempotent: bool = True

    def request(self, client: httpx.Client | httpx.AsyncClient, timeout: float | None) -> httpx.Request:
        headers = {k: v for k, v in self.headers.items() if v is not None}
        if self.body.content is not None:
            headers["Content-Type"] = self.body.type
        return client.build_request(
            self.method,
            self.path,
            params={k: plain(v) for k, v in self.query.items() if v is not None},
            headers=headers,
            content=self.body.content,
            timeout=client.timeout if timeout is None else timeout,
        )

    def failed(self, e: httpx.RequestError) -> tuple[Unreachable, bool]:
        """The error of a lost connection, and whether the request may be sent again.

        What was not sent may be in any case.
        """
        kind = TimedOut if isinstance(e, httpx.TimeoutException) else Unreachable
        never_sent = isinstance(e, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout)
        error = kind(f"{self.method} {self.path}: {e or type(e).__name__}")
        return error, self.idempotent or never_sent

    def refused(self, response: httpx.Response) -> tuple[APIError, bool]:
        """The error of an answer that is none of 2xx, and whether the request may be sent again.

        After 429, and after 409 with a Retry-After, the server has done nothing. 502 and 504 of Reverie itself tell
        of its model, which would be paid for again.
        """
        problem, ours = problem_of(response)
        error = error_of(problem, retry_after(response))
        status = response.status_code
        undone = status == 429 or (status == 409 and error.retry_after is not None)
        away = status == 503 or (status in (502, 504) and not ours)
        return error, undone or (self.idempotent and away)

    def answer(self, response: httpx.Response) -> T:
        if response.status_code == 204:
            return None  # type: ignore[return-value]
        try:
            value = response.json()
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise BadAnswer(f"{self.method} {self.path}: the answer is no object of JSON; is this Reverie's address?")
        return cast(T, value)


def next_wait(retry: Retry, attempt: int, error: Exception, again: bool) -> float:
    """Seconds until the next attempt; raises the error if there is to be none."""
    wait = retry.delay(attempt)
    asked = error.retry_after if isinstance(error, APIError) else None
    if not again or attempt >= retry.attempts or (asked is not None and asked > retry.longest):
        raise error
    return max(wait, asked or 0)


def problem_of(response: httpx.Response) -> tuple[dict[str, Any], bool]:
    """The problem of an answer, and whether it is Reverie's. For a proxy's answer one is made."""
    try:
        problem = response.json()
    except ValueError:
        problem = None
    ours = isinstance(problem, dict) and isinstance(problem.get("detail"), str)
    if not ours:
        problem = {"title": response.reason_phrase, "detail": _not_ours(response)}
    return {"type": "about:blank", "title": "", "instance": "", **problem, "status": response.status_code}, ours


def _not_ours(response: httpx.Response) -> str:
    if to := response.headers.get("Location"):
        return f"the server sends this elsewhere: use {to} as base_url, if you trust it"
    return "this is no answer of Reverie: look at the base_url, and at what stands between"


def address(base_url: str) -> str:
    """The address, if it is one."""
    url = httpx.URL(base_url)
    if url.scheme not in ("http", "https") or not url.host:
        raise ValueError(f"base_url {base_url} is no http or https address")
    return base_url


def retry_after(response: httpx.Response) -> float | None:
    value = response.headers.get("Retry-After", "")
    if value.strip().isdigit():
        return float(value)
    try:
        at = parsedate_to_datetime(value)
    except (TypeError, ValueError):
        return None
    return max(0.0, (at - datetime.now(at.tzinfo or timezone.utc)).total_seconds())


def path_of(template: str, *arguments: str) -> str:
    """A path with its arguments, percent-encoded."""
    for a in arguments:
        head, _, rest = template.partition("{")
        if not a:
            raise ValueError(f"{rest.partition('}')[0]} is empty")
        template = head + quote(a, safe="").replace(".", "%2E") + rest.partition("}")[2]
    return template


def plain(value: Any) -> Any:
    """A value as JSON and queries have it."""
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError(f"{value!r} has no time zone; give it one, such as .astimezone()")
        return value.isoformat()
    if isinstance(value, date):
        return value.isoformat()
    return value


def encode(value: Any) -> bytes:
    def other(v: Any) -> Any:
        if isinstance(v, date):
            return plain(v)
        raise TypeError(f"{v!r} cannot be sent as JSON")

    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=other)
    # Half a surrogate pair, as some platforms cut texts, has no bytes.
    return text.encode("utf-8", "replace")


# --- lines of messages ---

BATCH_MESSAGES = 500
BATCH_BYTES = 1 << 20
LINGER = 1.0  # seconds that a message of a stream waits for others


class Lines:
    """Makes lines of messages, and sums what the server says of them."""

    def __init__(self, group: str) -> None:
        self.added: models.MessagesAdded = {"success": True, "group_id": group, "new": 0, "known": 0, "bad_count": 0}
        self.batch: list[bytes] = []
        self._size = 0
        self._before = 0  # lines of earlier batches
        self._same: dict[str, int] = {}
        self._refused: Invalid | None = None

    def add(self, message: Message) -> bool:
        """Adds a line, and tells whether the batch is full."""
        line = line_of(message, self._same)
        data = encode(line)
        self.batch.append(data)
        self._size += len(data) + 1
        return len(self.batch) >= BATCH_MESSAGES or self._size >= BATCH_BYTES

    def take(self) -> bytes:
        """The body of the batch."""
        return b"\n".join(self.batch) + b"\n"

    def took(self, added: models.MessagesAdded) -> None:
        """Notes the answer to the batch."""
        for bad in added.get("bad", []):
            self.added.setdefault("bad", []).append({**bad, "line": bad["line"] + self._before})
        sum_of = cast(dict[str, Any], self.added)
        for name, more in added.items():
            if isinstance(more, int) and not isinstance(more, bool):
                sum_of[name] = sum_of.get(name, 0) + more
        for why, n in added.get("filtered", {}).items():
            by = self.added.setdefault("filtered", {})
            by[why] = by.get(why, 0) + n
        self.added["success"] = self.added["success"] and added["success"]
        self._next()

    def took_none(self, error: Invalid) -> None:
        """Notes that no line of the batch was a message. It is an error if no batch has any."""
        self._refused = self._refused or error
        for e in error.errors:
            number = str(e.get("location", "")).rpartition(" ")[2]
            if number.isdigit():
                bad = models.BadLine(line=int(number) + self._before, reason=str(e.get("message", "")))
                self.added.setdefault("bad", []).append(bad)
        self.added["bad_count"] += len(self.batch)
        self.added["success"] = False
        self._next()

    def _next(self) -> None:
        self._before += len(self.batch)
        self.batch, self._size = [], 0

    def end(self) -> models.MessagesAdded:
        if self._refused is not None and self.added["bad_count"] == self._before:
            raise self._refused
        return self.added


def line_of(message: Message, same: dict[str, int] | None = None) -> dict[str, Any]:
    """A message with all that its line needs, so that it may be sent again.

    `same` counts messages that would get the same id.
    """
    line = {k: plain(v) for k, v in message.items() if v is not None}
    if line.get("id"):
        line.setdefault("sent_at", None if _is_change(line) else _now())
        return {k: v for k, v in line.items() if v is not None}
    if _is_change(line):
        raise ValueError("an edit, deletion or reaction needs the id of its message")
    if "sent_at" not in line:
        return {**line, "sent_at": _now(), "id": str(uuid.uuid4())}
    # The same id for the same words of the same author at the same time; of several of them each has its own.
    author = line.get("author_id") or line.get("author")
    name = hashlib.sha256(
        encode([line.get("session_id"), author, line["sent_at"], line.get("role"), line.get("text")])
    ).hexdigest()[:32]
    nth = 0
    if same is not None:
        nth = same[name] = same.get(name, -1) + 1
    return {**line, "id": f"{name}-{nth}" if nth else name}


def _now() -> str:
    return datetime.now(timezone.utc).isoformat()


def _is_change(line: Mapping[str, Any]) -> bool:
    return any(line.get(k) is not None for k in ("edited_at", "deleted_at", "reactions"))


def each(messages: Messages) -> Generator[Message, None, None]:
    """The messages of one, several or a stream."""
    if isinstance(messages, Mapping):
        yield messages  # type: ignore[misc]
        return
    yield from messages


@dataclass
class _End:
    error: Exception | None = None


async def each_async(messages: AnyMessages) -> AsyncGenerator[Message | None, None]:
    """The same, also of a stream that goes on as long as the chat does.

    None says that a message has waited long enough for others. The stream is read in a task of its own, one message
    ahead.
    """
    if not isinstance(messages, AsyncIterable):
        for message in each(messages):
            yield message
        return
    ahead: asyncio.Queue[Message | _End] = asyncio.Queue(maxsize=1)

    async def read() -> None:
        end = _End()
        try:
            async for message in messages:
                await ahead.put(message)
        except Exception as e:
            end.error = e
        await ahead.put(end)

    now = asyncio.get_running_loop().time
    reader, due = asyncio.create_task(read()), None
    try:
        while True:
            try:
                got = await asyncio.wait_for(ahead.get(), None if due is None else due - now())
            except asyncio.TimeoutError:
                due = None
                yield None
                continue
            if isinstance(got, _End):
                if got.error is not None:
                    raise got.error
                return
            due = due or now() + LINGER
            yield got
    finally:
        reader.cancel()
        await asyncio.wait({reader})


def evolved(reply: models.RunReply) -> models.EvolveReply:
    """What a run that was waited for did, in the form of one that answered at once."""
    run = reply["run"]
    done: models.EvolveReply = {
        "success": run["status"] != "failed",
        "group_id": run["group_id"],
        "run_id": run["run_id"],
        "status": run["status"],
        "stats": run["stats"],
        "changes": reply["changes"],
    }
    if finished := run["finished_at"]:
        done["evolution_time"] = finished
    if error := run.get("error"):
        done["error"] = error
    return done
