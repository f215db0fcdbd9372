# Written by generate.py from _operations.py. Do not edit.

"""A method for each operation of the server that the client does not serve in a way of its own."""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from typing import Literal, TypeVar

from . import models
from ._core import Body, Call, Time, path_of

T = TypeVar("T")


class Operations(ABC):
    """What the server does, one method an operation."""

    @abstractmethod
    def _send(self, call: Call[T], timeout: float | None = None) -> T: ...

    @abstractmethod
    def _group(self, group: str | None) -> str: ...

    def add_memory(
        self,
        body: models.AddMemoryBody,
        *,
        group: str | None = None,
        timeout: float | None = None,
    ) -> models.MemoryReply:
        """Write a memory. Adds what a person writes to a group's memories. Its author is the name of the token, or
        its id. A statement that breaks a rule is a 422. One that another active memory makes is a 409 that
        names it. To have a person decide first, propose it. Needs a token of scope write.
        """
        call: Call[models.MemoryReply] = Call(
            "POST",
            path_of("/memory/{group_id}", self._group(group)),
            body=Body(body),
            idempotent=False,
        )
        return self._send(call, timeout)

    def add_webhook(
        self,
        body: models.AddWebhookBody,
        *,
        timeout: float | None = None,
    ) -> models.WebhookReply:
        """Add a webhook. The answer shows the secret, which is not shown again. A token of a group adds one for
        its group. Needs a token of scope admin.
        """
        call: Call[models.WebhookReply] = Call(
            "POST",
            path_of("/v1/webhooks"),
            body=Body(body),
            idempotent=False,
        )
        return self._send(call, timeout)

    def approve_run(
        self,
        run_id: str,
        body: models.ApproveBody | None = None,
        *,
        timeout: float | None = None,
    ) -> models.EvolveReply:
        """Approve what a run holds. Applies the plan that waits. Lines whose memory has moved since are refused.
        Needs a token of scope admin.
        """
        call: Call[models.EvolveReply] = Call(
            "POST",
            path_of("/v1/runs/{run_id}/approve", run_id),
            body=Body(body),
            idempotent=False,
        )
        return self._send(call, timeout)

    def clear_session(
        self,
        session_id: str,
        *,
        group: str | None = None,
        timeout: float | None = None,
    ) -> models.ClearReply:
        """Clear a session's short-term memory. The rolling summary and the turns that stand word for word are in
        no context any more. Messages and memories stay, and what waits for extraction waits. Clearing it again
        does nothing. Needs a token of scope write.
        """
        call: Call[models.ClearReply] = Call(
            "DELETE",
            path_of("/v1/groups/{group_id}/sessions/{session_id}/buffer", self._group(group), session_id),
        )
        return self._send(call, timeout)

    def delete_memory(
        self,
        memory_id: str,
        *,
        reason: str | None = None,
        timeout: float | None = None,
    ) -> models.MemoryReply:
        """Delete a memory. Ends the lineage's head. Nothing is lost: it can be restored. Writing to an old version
        is a 409 whose head_id and head_version name the lineage's head. Needs a token of scope write.
        """
        call: Call[models.MemoryReply] = Call(
            "DELETE",
            path_of("/memory/{memory_id}", memory_id),
            query={"reason": reason},
        )
        return self._send(call, timeout)

    def delete_webhook(
        self,
        id: str,
        *,
        timeout: float | None = None,
    ) -> models.WebhookReply:
        """Remove a webhook. What waits for it is not sent. Needs a token of scope admin."""
        call: Call[models.WebhookReply] = Call(
            "DELETE",
            path_of("/v1/webhooks/{id}", id),
        )
        return self._send(call, timeout)

    def edit_memory(
        self,
        memory_id: str,
        body: models.EditMemoryBody,
        *,
        timeout: float | None = None,
    ) -> models.MemoryReply:
        """Edit a memory. Makes a new version of an active head with other words, tags, type or date; what is left
        out stays. With scope alone it says how far the memory reaches: that needs a token of scope admin.
        Writing to an old version is a 409 whose head_id and head_version name the lineage's head. Needs a token
        of scope write.
        """
        call: Call[models.MemoryReply] = Call(
            "PATCH",
            path_of("/memory/{memory_id}", memory_id),
            body=Body(body),
            idempotent=False,
        )
        return self._send(call, timeout)

    def explain_context(
        self,
        body: models.ContextBody,
        *,
        group: str | None = None,
        timeout: float | None = None,
    ) -> models.Recalled:
        """Explain what a bot would be told, and why. Makes a context as get-context does, and tells of every
        memory that was looked at what it scored and what became of it. Nothing is logged as used. Needs a token
        of scope read.
        """
        call: Call[models.Recalled] = Call(
            "POST",
            path_of("/v1/groups/{group_id}/explain", self._group(group)),
            body=Body(body),
            idempotent=False,
        )
        return self._send(call, timeout)

    def get_costs(
        self,
        *,
        group: str | None = None,
        since: Time | None = None,
        until: Time | None = None,
        limit: int | None = None,
        timeout: float | None = None,
    ) -> models.CostsReply:
        """Say what models have cost. By day, group and model, of all groups that the token may see, or of one.
        Needs a token of scope read.
        """
        call: Call[models.CostsReply] = Call(
            "GET",
            path_of("/v1/costs"),
            query={"group": group, "since": since, "until": until, "limit": limit},
        )
        return self._send(call, timeout)

    def get_dream(
        self,
        *,
        group: str | None = None,
        timeout: float | None = None,
    ) -> models.DreamPage:
        """Get what a group's dreams have left. The narrative of the last dream, and the preferences, themes and
        open threads that stand. Needs a token of scope read.
        """
        call: Call[models.DreamPage] = Call(
            "GET",
            path_of("/v1/dreams/{group_id}", self._group(group)),
        )
        return self._send(call, timeout)

    def get_entity(
        self,
        entity_id: str,
        *,
        group: str | None = None,
        timeout: float | None = None,
    ) -> models.OneEntityReply:
        """Get one of the people and things. What it is called, what is said of it, and on which evidence. Needs a
        token of scope read.
        """
        call: Call[models.OneEntityReply] = Call(
            "GET",
            path_of("/v1/entities/{group_id}/{entity_id}", self._group(group), entity_id),
        )
        return self._send(call, timeout)

    def get_group(
        self,
        *,
        group: str | None = None,
        timeout: float | None = None,
    ) -> models.OneGroupReply:
        """Get a group. A group, its settings, and how it stands. Needs a token of scope read."""
        call: Call[models.OneGroupReply] = Call(
            "GET",
            path_of("/v1/groups/{group_id}", self._group(group)),
        )
        return self._send(call, timeout)

    def get_group_stats(
        self,
        *,
        group: str | None = None,
        timeout: float | None = None,
    ) -> models.GroupStatsReply:
        """Say how a group's memories stand. Counts by kind, strength, weight and day, and which memories are used.
        Needs a token of scope read.
        """
        call: Call[models.GroupStatsReply] = Call(
            "GET",
            path_of("/v1/groups/{group_id}/stats", self._group(group)),
        )
        return self._send(call, timeout)

    def get_memory(
        self,
        memory_id: str,
        *,
        timeout: float | None = None,
    ) -> models.ShowReply:
        """Show a memory. What a memory says, the words that it rests on with author and date, and its versions,
        oldest first. Needs a token of scope read.
        """
        call: Call[models.ShowReply] = Call(
            "GET",
            path_of("/memory/{memory_id}", memory_id),
        )
        return self._send(call, timeout)

    def get_memory_blame(
        self,
        memory_id: str,
        *,
        at: Time | None = None,
        recorded_at: Time | None = None,
        timeout: float | None = None,
    ) -> models.BlameReply:
        """Say who wrote a memory. For each version of its lineage the run, model, prompt version and messages that
        wrote it, and for each word of the newest, which version brought it. Needs a token of scope read.
        """
        call: Call[models.BlameReply] = Call(
            "GET",
            path_of("/v1/memories/{memory_id}/blame", memory_id),
            query={"at": at, "recorded_at": recorded_at},
        )
        return self._send(call, timeout)

    def get_memory_diff(
        self,
        from_: Time,
        *,
        group: str | None = None,
        to: Time | None = None,
        recorded: bool | None = None,
        kind: Literal["group", "session", "dream", "team"] | None = None,
        passing: bool | None = None,
        timeout: float | None = None,
    ) -> models.DiffReply:
        """Say how a group's memories differ between two instants. What was active at the one and not at the other,
        and what says something else, with the changes in between. A version that begins at an instant is active
        at it; one that ends at it is not. At most 1000 of each. Needs a token of scope read.
        """
        call: Call[models.DiffReply] = Call(
            "GET",
            path_of("/v1/groups/{group_id}/diff", self._group(group)),
            query={"from": from_, "to": to, "recorded": recorded, "kind": kind, "passing": passing},
        )
        return self._send(call, timeout)

    def get_memory_history(
        self,
        memory_id: str,
        *,
        at: Time | None = None,
        recorded_at: Time | None = None,
        timeout: float | None = None,
    ) -> models.HistoryReply:
        """List all versions of a memory. All versions of the lineage that a version belongs to, oldest first. With
        at or recorded_at, those that there were then, each with its status of then. Needs a token of scope
        read.
        """
        call: Call[models.HistoryReply] = Call(
            "GET",
            path_of("/memory/history/{memory_id}", memory_id),
            query={"at": at, "recorded_at": recorded_at},
        )
        return self._send(call, timeout)

    def get_memory_why(
        self,
        memory_id: str,
        *,
        timeout: float | None = None,
    ) -> models.WhyReply:
        """Say what stands behind a memory. For each version of its lineage: what made it, on which evidence, by
        which run and decision, and what changed it later. Needs a token of scope read.
        """
        call: Call[models.WhyReply] = Call(
            "GET",
            path_of("/v1/memories/{memory_id}/why", memory_id),
        )
        return self._send(call, timeout)

    def get_run(
        self,
        run_id: str,
        *,
        timeout: float | None = None,
    ) -> models.RunReply:
        """Get a run. A run with its chunks, changes, refusals, calls, and what it holds. Needs a token of scope
        read.
        """
        call: Call[models.RunReply] = Call(
            "GET",
            path_of("/v1/runs/{run_id}", run_id),
        )
        return self._send(call, timeout)

    def get_team_memory(
        self,
        id: str,
        *,
        team: str | None = None,
        timeout: float | None = None,
    ) -> models.TeamMemory:
        """Get a team's memory. The newest version of the memory, deleted or not. The ETag is its version_id. Needs
        a token of scope read.
        """
        call: Call[models.TeamMemory] = Call(
            "GET",
            path_of("/v1/team/memories/{id}", id),
            query={"team": team},
        )
        return self._send(call, timeout)

    def link_entity(
        self,
        entity_id: str,
        body: models.LinkBody,
        *,
        group: str | None = None,
        timeout: float | None = None,
    ) -> models.LinksReply:
        """Link a person with a person of another group. Says that they are the same. Facts of scope person that
        the one has said of themselves are read in the other's group, too. Both need an account of the same id;
        without one it is a 409. It needs a token of both groups. Needs a token of scope admin.
        """
        call: Call[models.LinksReply] = Call(
            "POST",
            path_of("/v1/groups/{group_id}/entities/{entity_id}/link", self._group(group), entity_id),
            body=Body(body),
            idempotent=False,
        )
        return self._send(call, timeout)

    def list_changes(
        self,
        *,
        group: str | None = None,
        days: int | None = None,
        timeout: float | None = None,
    ) -> models.ChangesReply:
        """List what changed in a group's memories. The change log of the last days, newest first, at most 1000
        changes. Needs a token of scope read.
        """
        call: Call[models.ChangesReply] = Call(
            "GET",
            path_of("/memory/changes/{group_id}", self._group(group)),
            query={"days": days},
        )
        return self._send(call, timeout)

    def list_groups(
        self,
        *,
        after: str | None = None,
        limit: int | None = None,
        state: Literal["active", "paused", "parked"] | None = None,
        name: str | None = None,
        timeout: float | None = None,
    ) -> models.GroupsReply:
        """List groups. A page of the groups that the token may see, by id, and how they stand. Needs a token of
        scope read.
        """
        call: Call[models.GroupsReply] = Call(
            "GET",
            path_of("/v1/groups"),
            query={"after": after, "limit": limit, "state": state, "name": name},
        )
        return self._send(call, timeout)

    def list_messages(
        self,
        *,
        group: str | None = None,
        session_id: str | None = None,
        before: str | None = None,
        after: str | None = None,
        around: str | None = None,
        limit: int | None = None,
        timeout: float | None = None,
    ) -> models.MessagesReply:
        """List a group's messages. A page of messages, oldest first: the newest, those before or after one, or
        those around one, each with what became of it. Needs a token of scope read.
        """
        call: Call[models.MessagesReply] = Call(
            "GET",
            path_of("/v1/groups/{group_id}/messages", self._group(group)),
            query={"session_id": session_id, "before": before, "after": after, "around": around, "limit": limit},
        )
        return self._send(call, timeout)

    def list_nights(
        self,
        *,
        group: str | None = None,
        before: str | None = None,
        limit: int | None = None,
        timeout: float | None = None,
    ) -> models.NightsReply:
        """List a group's nights. What became of the group's memories date by date of its own calendar, newest
        first. Needs a token of scope read.
        """
        call: Call[models.NightsReply] = Call(
            "GET",
            path_of("/v1/groups/{group_id}/nights", self._group(group)),
            query={"before": before, "limit": limit},
        )
        return self._send(call, timeout)

    def list_runs(
        self,
        *,
        group: str | None = None,
        job: str | None = None,
        status: Literal["running", "succeeded", "held", "deferred", "failed", "rejected"] | None = None,
        since: Time | None = None,
        before: str | None = None,
        limit: int | None = None,
        timeout: float | None = None,
    ) -> models.RunsReply:
        """List runs. A page of runs, newest first, with what each has spent. Needs a token of scope read."""
        call: Call[models.RunsReply] = Call(
            "GET",
            path_of("/v1/runs"),
            query={"group": group, "job": job, "status": status, "since": since, "before": before, "limit": limit},
        )
        return self._send(call, timeout)

    def list_team_memories(
        self,
        *,
        team: str | None = None,
        after: str | None = None,
        limit: int | None = None,
        timeout: float | None = None,
    ) -> models.TeamMemories:
        """List a team's memories. A page of the team's memories by id, each as it is now, deleted ones included.
        Needs a token of scope read.
        """
        call: Call[models.TeamMemories] = Call(
            "GET",
            path_of("/v1/team/memories"),
            query={"team": team, "after": after, "limit": limit},
        )
        return self._send(call, timeout)

    def list_webhooks(
        self,
        *,
        group: str | None = None,
        timeout: float | None = None,
    ) -> models.WebhooksReply:
        """List webhooks. With how they fare and what waits for them. A token of a group sees those of its group
        alone. Needs a token of scope admin.
        """
        call: Call[models.WebhooksReply] = Call(
            "GET",
            path_of("/v1/webhooks"),
            query={"group": group},
        )
        return self._send(call, timeout)

    def propose_memory(
        self,
        body: models.ProposalBody,
        *,
        group: str | None = None,
        timeout: float | None = None,
    ) -> models.ProposalReply:
        """Propose what is to be remembered, or forgotten. Nothing changes until a person approves it: the answer
        names the run that holds it. Needs a token of scope write.
        """
        call: Call[models.ProposalReply] = Call(
            "POST",
            path_of("/v1/groups/{group_id}/proposals", self._group(group)),
            body=Body(body),
            idempotent=False,
        )
        return self._send(call, timeout)

    def put_team_memory(
        self,
        id: str,
        body: models.TeamBody,
        *,
        team: str | None = None,
        if_match: str | None = None,
        if_none_match: Literal["*"] | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.TeamMemory:
        """Write a team's memory. Makes the body the newest version of the memory. If-Match with the ETag of the
        version that it was made from changes it, If-None-Match: * creates it, and the team with it; one of them
        is needed (428). Where the memory is another by now nothing is written, and the 412 has it as current.
        What holds a secret, or can be no memory, is a 422 whose findings name field and rule. A memory is
        deleted by status deprecated, and restored by active. Another active memory of the team that says the
        same is a 409. Needs a token of scope write.
        """
        call: Call[models.TeamMemory] = Call(
            "PUT",
            path_of("/v1/team/memories/{id}", id),
            query={"team": team},
            headers={
                "If-Match": if_match,
                "If-None-Match": if_none_match,
                "Idempotency-Key": idempotency_key or str(uuid.uuid4()),
            },
            body=Body(body),
        )
        return self._send(call, timeout)

    def reject_run(
        self,
        run_id: str,
        body: models.RejectBody | None = None,
        *,
        timeout: float | None = None,
    ) -> models.RejectReply:
        """Reject what a run holds. Nothing is applied. With requeue its messages are pending again. Needs a token
        of scope admin.
        """
        call: Call[models.RejectReply] = Call(
            "POST",
            path_of("/v1/runs/{run_id}/reject", run_id),
            body=Body(body),
            idempotent=False,
        )
        return self._send(call, timeout)

    def replay_webhook(
        self,
        id: str,
        body: models.ReplayBody,
        *,
        timeout: float | None = None,
    ) -> models.WebhookReplayReply:
        """Send events again. The events from an instant, or from one of them on, are sent again, with their ids.
        It enables the webhook. Needs a token of scope admin.
        """
        call: Call[models.WebhookReplayReply] = Call(
            "POST",
            path_of("/v1/webhooks/{id}/replay", id),
            body=Body(body),
            idempotent=False,
        )
        return self._send(call, timeout)

    def restore_memory(
        self,
        memory_id: str,
        body: models.ReasonBody | None = None,
        *,
        reason: str | None = None,
        timeout: float | None = None,
    ) -> models.MemoryReply:
        """Restore a memory. Makes a new version of a head that was deleted or archived. Writing to an old version
        is a 409 whose head_id and head_version name the lineage's head. Needs a token of scope write.
        """
        call: Call[models.MemoryReply] = Call(
            "PUT",
            path_of("/memory/{memory_id}/restore", memory_id),
            query={"reason": reason},
            body=Body(body),
        )
        return self._send(call, timeout)

    def set_memory_strength(
        self,
        memory_id: str,
        body: models.StrengthBody,
        *,
        reason: str | None = None,
        timeout: float | None = None,
    ) -> models.MemoryReply:
        """Set the strength of a memory. Sets how well supported an active memory counts. Writing to an old version
        is a 409 whose head_id and head_version name the lineage's head. Needs a token of scope write.
        """
        call: Call[models.MemoryReply] = Call(
            "PUT",
            path_of("/memory/{memory_id}/strength", memory_id),
            query={"reason": reason},
            body=Body(body),
        )
        return self._send(call, timeout)

    def test_webhook(
        self,
        id: str,
        *,
        timeout: float | None = None,
    ) -> models.WebhookTestReply:
        """Send a webhook a test. An event of type webhook.test is sent once. The answer is a 200 also where the
        webhook failed. Needs a token of scope admin.
        """
        call: Call[models.WebhookTestReply] = Call(
            "POST",
            path_of("/v1/webhooks/{id}/test", id),
            idempotent=False,
        )
        return self._send(call, timeout)

    def undo_run(
        self,
        run_id: str,
        body: models.UndoBody | None = None,
        *,
        timeout: float | None = None,
    ) -> models.UndoReply:
        """Undo a run. What it did is put back as new versions; history stays. What others have changed since is
        left and listed, unless forced. A run that is undone already is a 409. Needs a token of scope admin.
        """
        call: Call[models.UndoReply] = Call(
            "POST",
            path_of("/v1/runs/{run_id}/undo", run_id),
            body=Body(body),
            idempotent=False,
        )
        return self._send(call, timeout)

    def unlink_entity(
        self,
        entity_id: str,
        body: models.LinkBody,
        *,
        group: str | None = None,
        timeout: float | None = None,
    ) -> models.LinksReply:
        """Take back that two people are the same. Ends a link, on both sides and at once. One that is not there is
        a 404. Needs a token of scope admin.
        """
        call: Call[models.LinksReply] = Call(
            "DELETE",
            path_of("/v1/groups/{group_id}/entities/{entity_id}/link", self._group(group), entity_id),
            body=Body(body),
        )
        return self._send(call, timeout)
