# Written by generate.py from _async.py. Do not edit.
from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from types import TracebackType
from typing import Any, Literal, TypeVar, cast

import httpx

from . import models
from ._core import (
    Messages,
    Body,
    Call,
    Lines,
    Message,
    Reaction,
    Retry,
    Time,
    address,
    each,
    evolved,
    next_wait,
    path_of,
)
from ._operations_sync import Operations
from .errors import Invalid, TimedOut

T = TypeVar("T")
PAGE = 200


class Reverie(Operations):
    """A client of a Reverie server.

    `token` may be left out where the server needs none. `group` is the group of calls that name none.
    `timeout` is in seconds, for connecting and for each wait for bytes. Use it as a context manager, or close it.
    """

    def __init__(
        self,
        base_url: str = "http://127.0.0.1:8470",
        token: str | None = None,
        *,
        group: str | None = None,
        timeout: float = 40.0,
        retry: Retry | None = None,
        headers: Mapping[str, str] | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.group = group
        self.retry = retry or Retry()
        auth = {"Authorization": f"Bearer {token}"} if token else {}
        self._client = httpx.Client(
            base_url=address(base_url),
            headers={"User-Agent": "reverie-memory-python", "Accept": "application/json", **auth, **(headers or {})},
            timeout=httpx.Timeout(timeout, connect=min(timeout, 10.0)),
            transport=transport,
        )
        self._sleep = time.sleep

    def __enter__(self) -> Reverie:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        self._client.close()

    # --- what a bot needs ---

    def remember(
        self, messages: Messages, *, group: str | None = None, timeout: float | None = None
    ) -> models.MessagesAdded:
        """Stores messages: one, a list, or a stream of any length.

        They go out in batches, and each batch is sent again if its answer is lost: a message that is known stays
        as it was. A message of an async stream waits a second for others at most. Edits, deletions and reactions are
        lines, too; see `Message`.
        """
        group = self._group(group)
        lines = Lines(group)
        with closing(each(messages)) as stream:
            for message in stream:
                if lines.batch if message is None else lines.add(message):
                    self._send_lines(lines, group, timeout)
        if lines.batch:
            self._send_lines(lines, group, timeout)
        return lines.end()

    def _send_lines(self, lines: Lines, group: str, timeout: float | None) -> None:
        call: Call[models.MessagesAdded] = Call(
            "POST", path_of("/v1/groups/{group_id}/messages", group), body=Body(lines=lines.take())
        )
        try:
            lines.took(self._send(call, timeout))
        except Invalid as e:
            lines.took_none(e)

    def context(
        self,
        query: str = "",
        *,
        session: str | None = None,
        max_tokens: int | None = None,
        at: Time | None = None,
        recorded_at: Time | None = None,
        group: str | None = None,
        timeout: float | None = None,
    ) -> models.ContextReply:
        """What a bot should know before it answers. `text` is ready to stand in a prompt.

        With a session, its last turns are given, too.
        """
        body = {"query": query, "session_id": session, "max_tokens": max_tokens, "at": at, "recorded_at": recorded_at}
        call: Call[models.ContextReply] = Call(
            "POST", path_of("/v1/groups/{group_id}/context", self._group(group)), body=Body(_given(body))
        )
        return self._send(call, timeout)

    def feedback(
        self,
        response: str,
        *,
        usage_id: str | None = None,
        session: str | None = None,
        group: str | None = None,
        timeout: float | None = None,
    ) -> models.FeedbackReply:
        """Says what the bot answered, so that memories that were used gain weight.

        `usage_id` is that of the context. Without it, the newest context of the session counts.
        """
        call: Call[models.FeedbackReply] = Call(
            "POST",
            path_of("/v1/groups/{group_id}/feedback", self._group(group)),
            body=Body(_given({"response": response, "usage_id": usage_id, "session_id": session})),
            idempotent=usage_id is not None,
        )
        return self._send(call, timeout)

    def search(
        self,
        query: str,
        *,
        limit: int | None = None,
        threshold: float | None = None,
        kind: Literal["group", "session", "dream", "team"] | None = None,
        at: Time | None = None,
        recorded_at: Time | None = None,
        group: str | None = None,
        timeout: float | None = None,
    ) -> models.SearchReply:
        """The memories nearest to a text, best first."""
        call: Call[models.SearchReply] = Call(
            "GET",
            path_of("/memory/search/{group_id}", self._group(group)),
            query={
                "q": query,
                "limit": limit,
                "threshold": threshold,
                "kind": kind,
                "at": at,
                "recorded_at": recorded_at,
            },
        )
        return self._send(call, timeout)

    def memories(
        self,
        *,
        status: Literal["active", "superseded", "deprecated", "archived", "held", "all"] | None = None,
        kind: Literal["group", "session", "dream", "team"] | None = None,
        tag: str | None = None,
        session: str | None = None,
        at: Time | None = None,
        recorded_at: Time | None = None,
        group: str | None = None,
        page: int = PAGE,
    ) -> Iterator[models.Memory]:
        """All memories of the group, read page by page."""
        query = {"status": status, "kind": kind, "tag": tag, "session_id": session, "at": at}
        path, offset = path_of("/memory/list/{group_id}", self._group(group)), 0
        while True:
            call: Call[models.ListReply] = Call(
                "GET", path, query={**query, "recorded_at": recorded_at, "limit": page, "offset": offset}
            )
            reply = self._send(call)
            for memory in reply["memories"]:
                yield memory
            offset += len(reply["memories"])
            if not reply["memories"] or offset >= reply["total"]:
                return

    def entities(
        self,
        *,
        kind: Literal["person", "bot", "thing"] | None = None,
        name: str | None = None,
        group: str | None = None,
        page: int = PAGE,
    ) -> Iterator[models.EntityReply]:
        """All people and things of the group, read page by page."""
        path, offset = path_of("/v1/entities/{group_id}", self._group(group)), 0
        while True:
            call: Call[models.EntitiesReply] = Call(
                "GET", path, query={"kind": kind, "name": name, "limit": page, "offset": offset}
            )
            reply = self._send(call)
            for entity in reply["entities"]:
                yield entity
            offset += len(reply["entities"])
            if not reply["entities"] or offset >= reply["total"]:
                return

    def evolve(
        self,
        *,
        days: int | None = None,
        wait: float = 600.0,
        poll: float = 2.0,
        group: str | None = None,
        timeout: float | None = None,
    ) -> models.EvolveReply:
        """Takes the group's pending messages in, and waits until that is done, `wait` seconds at most."""
        call: Call[models.EvolveReply | models.RunningReply] = Call(
            "POST", path_of("/memory/evolve/{group_id}", self._group(group)), query={"days": days}
        )
        while True:
            response = self._respond(call, timeout)
            reply = call.answer(response)
            if response.status_code != 202:
                return cast(models.EvolveReply, reply)
            if location := response.headers.get("Location"):
                break
            wait = self._pause(poll, wait)  # the run waits for its turn: ask again, which joins it
        look: Call[models.RunReply] = Call("GET", self._client.base_url.join(location).raw_path.decode())
        while (run := self._send(look, timeout))["run"]["status"] == "running":
            wait = self._pause(poll, wait)
        return evolved(run)

    def _pause(self, seconds: float, left: float) -> float:
        if left <= 0:
            raise TimedOut("the run still goes on; ask again later, which joins it")
        self._sleep(min(seconds, left))
        return left - seconds

    # --- what becomes of messages, and of people's wishes ---

    def edit_message(
        self,
        message_id: str,
        text: str,
        *,
        edited_at: Time | None = None,
        group: str | None = None,
        timeout: float | None = None,
    ) -> models.MessageChanged:
        """Gives a message the text that it has now. An older text than the stored one changes nothing."""
        call: Call[models.MessageChanged] = Call(
            "PATCH",
            self._message_path(message_id, group),
            body=Body(_given({"text": text, "edited_at": edited_at})),
        )
        return self._send(call, timeout)

    def delete_message(
        self, message_id: str, *, group: str | None = None, timeout: float | None = None
    ) -> models.MessageChanged:
        """Takes a message away, and its quotes. What rests on it alone is judged again."""
        call: Call[models.MessageChanged] = Call("DELETE", self._message_path(message_id, group))
        return self._send(call, timeout)

    def _message_path(self, message_id: str, group: str | None) -> str:
        return path_of("/v1/groups/{group_id}/messages/{message_id}", self._group(group), message_id)

    def react(
        self,
        message_id: str,
        emoji: str,
        author_id: str,
        *,
        count: int = 1,
        group: str | None = None,
        timeout: float | None = None,
    ) -> models.MessagesAdded:
        """Notes a reaction to a message. A count of 0 takes it back."""
        reaction = Reaction(emoji=emoji, author_id=author_id, count=count)
        return self.remember(Message(id=message_id, reactions=[reaction]), group=group, timeout=timeout)

    def what_about(
        self, author_id: str, *, group: str | None = None, timeout: float | None = None
    ) -> models.AuthorMemoriesReply:
        """What is remembered of a person and from a person's words: all of it, in one answer."""
        path = path_of("/v1/groups/{group_id}/authors/{author_id}/memories", self._group(group), author_id)
        call: Call[models.AuthorMemoriesReply] = Call("GET", path, query={"limit": PAGE})
        reply = more = self._send(call, timeout)
        while more["memories"] and len(reply["memories"]) < reply["total"]:
            call.query = {"limit": PAGE, "offset": len(reply["memories"])}
            more = self._send(call, timeout)
            reply["memories"] += more["memories"]
        return reply

    def forget(
        self,
        author_id: str,
        *,
        dry_run: bool = False,
        keep_names: Sequence[str] = (),
        group: str | None = None,
        timeout: float | None = None,
    ) -> models.ForgetReply:
        """Erases a person from the group: words, and what rests on them. It cannot be undone.

        A dry run only counts. `keep_names` stay in the words of others, such as Will.
        """
        path = path_of("/v1/groups/{group_id}/authors/{author_id}/forget", self._group(group), author_id)
        body = _given({"dry_run": dry_run, "keep_names": list(keep_names) or None})
        call: Call[models.ForgetReply] = Call("POST", path, body=Body(body))
        return self._send(call, timeout)

    # --- all else ---

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        idempotent: bool | None = None,
        timeout: float | None = None,
    ) -> Any:
        """Sends any request, with the token and the retries, and returns the JSON that is answered.

        It is retried if it is a GET, PUT or DELETE, unless `idempotent` says otherwise.
        """
        call: Call[Any] = Call(
            method,
            path,
            query=query or {},
            headers=headers or {},
            body=Body(body),
            idempotent=method in ("GET", "PUT", "DELETE") if idempotent is None else idempotent,
        )
        return self._send(call, timeout)

    def _send(self, call: Call[T], timeout: float | None = None) -> T:
        return call.answer(self._respond(call, timeout))

    def _respond(self, call: Call[T], timeout: float | None = None) -> httpx.Response:
        attempt = 1
        while True:
            error: Exception
            try:
                response = self._client.send(call.request(self._client, timeout))
                if response.is_success:
                    return response
                error, again = call.refused(response)
            except httpx.RequestError as e:
                error, again = call.failed(e)
                error.__cause__ = e
            self._sleep(next_wait(self.retry, attempt, error, again))
            attempt += 1

    def _group(self, group: str | None) -> str:
        group = group or self.group
        if not group:
            raise ValueError("no group is named: give group=, here or to the client")
        return group


def _given(body: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in body.items() if v is not None}
