# Written by generate.py from the OpenAPI document. Do not edit.
"""What the server takes and answers, field by field."""

from __future__ import annotations

from typing import Literal, TypedDict


class _AddMemoryBody(TypedDict):
    reason: str
    """Why: it is kept with the change."""
    statement: str
    """What is to be remembered."""


class AddMemoryBody(_AddMemoryBody, total=False):
    due_on: str
    """The date of a plan; none takes it away."""
    tags: list[str]
    """Its tags, in place of those that it has."""
    type: Literal["fact", "habit", "opinion", "rule", "plan", "culture"]
    """What kind of thing it says; a new memory is a fact."""


class _AddWebhookBody(TypedDict):
    url: str
    """Where events are posted to."""


class AddWebhookBody(_AddWebhookBody, total=False):
    events: list[str]
    """Only events of these types, such as memory.created."""
    group_id: str
    """Only events of this group."""
    secret: str
    """What to sign with: whsec_ and base64. Left out, one is made."""
    statements: bool
    """Whether bodies repeat what memories say."""


class ApproveBody(TypedDict, total=False):
    plan: str
    """Not accepted any more: what a run holds is approved or rejected as it is."""


class _AuthorMemoriesReply(TypedDict):
    author_id: str
    """Id of the author."""
    group_id: str
    """The group."""
    memories: list[Memory]
    """Memories that rest on the author's words, or name the author."""
    messages: int
    """Messages of theirs that are stored."""
    names: list[str]
    """Names that they wrote under."""
    success: bool
    """true; what failed is a problem."""
    total: int
    """Rows of all pages."""


class AuthorMemoriesReply(_AuthorMemoriesReply, total=False):
    entity: EntityReply


class BadLine(TypedDict):
    line: int
    """Which line, from 1."""
    reason: str
    """Why."""


class _BlameReply(TypedDict):
    group_id: str
    """The group."""
    memory: Memory
    success: bool
    """true; what failed is a problem."""
    versions: list[BlameVersion]
    """Versions."""
    words: list[BlameWords]
    """The statement in pieces, each with the version that brought it."""


class BlameReply(_BlameReply, total=False):
    cut: bool
    """There is more than an answer holds."""


class _BlameRun(TypedDict):
    job: str
    """What it did: evolve, dream, extract, impression, maintain or propose."""
    model: str
    """The model."""
    prompt_sha256: str
    """Of the prompt."""
    prompt_version: str
    """Of the prompt."""
    run_id: str
    """The run."""


class BlameRun(_BlameRun, total=False):
    chunk_no: int
    """Which chunk of the run, from 1."""
    undone_at: str
    """When it was undone."""


class _BlameVersion(TypedDict):
    action: Literal["keep", "update", "create", "delete", "restore", "archive", "strength", "weight", "scope", "undo"]
    """What was done."""
    at: str
    """When."""
    evidence: list[Evidence]
    """Messages behind it, also where its run was undone."""
    memory_id: str
    """Names the version."""
    remaining: int
    """Characters of the newest statement that the version brought."""
    statement: str
    """What is remembered."""
    status: Literal["active", "superseded", "deprecated", "archived", "held"]
    """How it stands."""
    version: int
    """Which version, from 1."""


class BlameVersion(_BlameVersion, total=False):
    approved: bool
    """It was held, and a person let it pass."""
    change_reason: str
    """Why."""
    run: BlameRun
    sources: list[SourceMemory]
    """Memories that it rests on."""
    undone_run_id: str
    """Of an undo: the run that it undid."""


class BlameWords(TypedDict):
    text: str
    """Words that follow one another."""
    version: int
    """Which version, from 1."""


class Call(TypedDict):
    cached_tokens: int
    """Of input_tokens, those that the provider had in its cache."""
    call_id: str
    """The call's id."""
    cost_usd: float
    """US dollars."""
    created_at: str
    """When it was made."""
    group_id: str
    """The group."""
    input_tokens: int
    """Tokens of what models were asked."""
    model: str
    """The model."""
    outcome: str
    """ok, or what went wrong."""
    output_tokens: int
    """Tokens of what models answered."""
    provider: str
    """Who serves the model."""
    purpose: str
    """What the model was asked for."""
    run_id: str | None
    """The run."""
    tier: str
    """How the call was handed in: standard, flex or batch."""


class _Candidate(TypedDict):
    memory_id: str
    """Names the version."""
    score: float
    """How well it fits."""
    statement: str
    """What is remembered."""
    version: int
    """Which version, from 1."""


class Candidate(_Candidate, total=False):
    merged: str
    """The statement that would say both."""
    reason: str
    """Why."""
    relation: str
    """How the fact stands to the memory."""


class _Change(TypedDict):
    action: Literal["keep", "update", "create", "delete", "restore", "archive", "strength", "weight", "scope", "undo"]
    """What was done."""
    change_reason: str
    """Why."""
    memory_id: str
    """Names the version."""
    new_statement: str
    """What it says now."""
    old_id: str | None
    """Names the version before."""
    old_statement: str
    """What it said before."""
    timestamp: str
    """When."""
    version: int
    """Which version, from 1."""


class Change(_Change, total=False):
    evidence: list[Evidence]
    """What it rests on: messages and words in them."""
    undone_run_id: str
    """Of an undo: the run that it undid."""


class _ChangeReply(TypedDict):
    action: Literal["keep", "update", "create", "delete", "restore", "archive", "strength", "weight", "scope", "undo"]
    """What was done."""
    change_reason: str
    """Why."""
    evidence: list[EvidenceReply]
    """What it rests on: messages and words in them."""
    version: int
    """Which version, from 1."""


class ChangeReply(_ChangeReply, total=False):
    new_id: str
    """Names the new version."""
    new_statement: str
    """What it says now."""
    old_id: str
    """Names the version before."""
    old_statement: str
    """What it said before."""
    statement: str
    """What is remembered."""


class ChangesReply(TypedDict):
    changes: list[Change]
    """What changed."""
    group_id: str
    """The group."""
    period: str
    """The dates that are looked at."""
    success: bool
    """true; what failed is a problem."""


class _Chunk(TypedDict):
    answer: str
    """The model's answer."""
    chunk_no: int
    """Which chunk of the run, from 1."""
    input_sha256: str
    """Of what the model was asked."""
    message_ids: list[str]
    """The messages of the chunk."""
    refusals: list[Refusal]
    """Lines of answers that were not accepted, and by which rule."""
    status: str
    """How it stands."""


class Chunk(_Chunk, total=False):
    memory_ids: list[str]
    """Memory versions of the chunk."""


class ClearReply(TypedDict):
    cleared: int
    """Messages that were in its short-term memory."""
    group_id: str
    """The group."""
    session_id: str
    """The session."""
    success: bool
    """true; what failed is a problem."""


class ContextBody(TypedDict, total=False):
    at: str
    """As of this instant of the chat: by when things were said."""
    max_tokens: int
    """Tokens of the text at most; 0 = as configured."""
    query: str
    """What the bot is asked."""
    recorded_at: str
    """As of this instant, by when things were written; instead of at."""
    session: str
    """Old name of session_id."""
    session_id: str
    """The session: its last turns are given, too."""


class ContextCounts(TypedDict):
    candidates: int
    """Memories near enough to be ranked."""
    dropped: int
    """What the budget of tokens left no room for."""
    entities: int
    """People and things that the query names."""
    long_term: int
    """Memories that are offered."""
    quotes: int
    """Earlier messages that are quoted."""
    short_term: int
    """Messages that are given word for word."""
    summarized: int
    """Messages that the summary covers."""


class ContextEntity(TypedDict):
    entity_id: str
    """The entity's id."""
    kind: Literal["person", "bot", "thing"]
    """What sort it is."""
    lines: list[str]
    """What is said of it, strongest first."""
    subject: str
    """The name that it goes by."""


class _ContextMemory(TypedDict):
    factors: Factors
    kind: Literal["group", "session", "dream", "team"]
    """What sort it is."""
    last_supported_at: str
    """When something last bore it out."""
    lineage_id: str
    """The line of versions that it belongs to."""
    memory_id: str
    """Names the version."""
    score: float
    """How well it fits."""
    statement: str
    """What is remembered."""
    status: Literal["active", "superseded", "deprecated", "archived", "held"]
    """active, or archived: no longer current, and given only where no active memory bears on the query."""
    tags: list[str]
    """Tags."""
    updated_at: str
    """When it changed last."""
    version: int
    """Which version, from 1."""


class ContextMemory(_ContextMemory, total=False):
    from_group_id: str
    """The linked group whose it is; left out for what is the group's own, or its team's."""


class ContextMessage(TypedDict):
    author: str
    """Display name of the author."""
    message_id: str
    """The message's id."""
    role: Literal["user", "assistant", "tool"]
    """Who wrote it."""
    sent_at: str
    """When it was sent."""
    text: str
    """The text."""


class ContextQuote(TypedDict):
    author: str
    """Display name of the author."""
    message_id: str
    """The message's id."""
    score: float
    """Share of the query's words that it has, 0 to 1."""
    sent_at: str
    """When it was sent."""
    text: str
    """What was said, word for word; secrets and personal data are masked."""


class _ContextReply(TypedDict):
    counts: ContextCounts
    entities: list[ContextEntity]
    """People and things."""
    group_id: str
    """The group."""
    max_tokens: int
    """Tokens that the text may have."""
    memories: list[ContextMemory]
    """Memories."""
    query: str
    """What was asked."""
    quotes: list[ContextQuote]
    """Earlier messages from outside of the session that bear on the query, best first."""
    success: bool
    """true; what failed is a problem."""
    text: str
    """All of it in one piece, ready to stand in a prompt."""
    tokens: int
    """Estimated tokens."""


class ContextReply(_ContextReply, total=False):
    session_id: str
    """The session."""
    short_term: ContextShortTerm
    skipped: str
    """Why no memories were looked up; left out where they were."""
    usage_id: str
    """Names the context, to report what the answer used."""
    warnings: list[str]
    """What did not go as it should have."""


class _ContextShortTerm(TypedDict):
    turns: list[ContextMessage]
    """The newest messages, oldest first."""


class ContextShortTerm(_ContextShortTerm, total=False):
    summary: SessionSummary


class _ConversationMessage(TypedDict):
    author: str
    """Display name of the author."""
    author_id: str
    """Id of the author."""
    id: str
    """The message's id, from its platform."""
    role: Literal["user", "assistant", "tool"]
    """Who wrote it."""
    sent_at: str
    """When it was sent."""
    state: str
    """What became of it: pending, cited, considered or filtered."""
    text: str
    """The text."""


class ConversationMessage(_ConversationMessage, total=False):
    edited_at: str
    """Since when it has this text; none: as it was sent."""
    filter: str
    """Why no model is shown it: empty, event, command or bot."""
    pruned: bool
    """What was removed for its age."""
    reactions: dict[str, int]
    """How often each emoji was given."""
    reply_to: str
    """The message that it answers."""
    run_id: str
    """The run."""
    session_id: str
    """The session."""


class _Cost(TypedDict):
    cached_tokens: int
    """Of input_tokens, those that the provider had in its cache."""
    calls: int
    """Calls of models."""
    cost_usd: float
    """US dollars."""
    failed: int
    """Of the calls: those that did not end well."""
    input_tokens: int
    """Tokens of what models were asked."""
    output_tokens: int
    """Tokens of what models answered."""


class Cost(_Cost, total=False):
    date: str
    """A date: YYYY-MM-DD."""
    group_id: str
    """The group."""
    model: str
    """The model."""
    purpose: str
    """What the model was asked for."""
    tier: str
    """How the call was handed in: standard, flex or batch."""


class _CostsReply(TypedDict):
    days: list[Cost]
    """By day, oldest first."""
    groups: list[Cost]
    """By group, dearest first."""
    models: list[Cost]
    """By model."""
    since: str
    """From this instant on."""
    success: bool
    """true; what failed is a problem."""
    total: Spend
    until: str
    """Before this instant."""


class CostsReply(_CostsReply, total=False):
    cut: bool
    """There is more than an answer holds."""
    group_id: str
    """The group."""


class _DayStats(TypedDict):
    changes: int
    """How many changes."""
    date: str
    """A date: YYYY-MM-DD."""


class DayStats(_DayStats, total=False):
    actions: dict[str, int]
    """Changes by action."""


class _Decision(TypedDict):
    action: str
    """What was done."""
    basis: str
    """What the decision rests on."""
    calls: int
    """Ids of the calls that compared it."""
    candidates: list[Candidate]
    """What it was compared with."""
    chunk_no: int
    """Which chunk of the run, from 1."""
    content_hash: str
    """Of the statement."""
    created_at: str
    """When it was made."""
    decision_no: int
    """Counts the decisions of the run, from 1."""
    group_id: str
    """The group."""
    kind: Literal["group", "session", "dream", "team"]
    """What sort it is."""
    reason: str
    """Why."""
    run_id: str
    """The run."""
    statement: str
    """What is remembered."""


class Decision(_Decision, total=False):
    memory_id: str
    """Names the version."""
    model: str
    """The model."""
    prompt_sha256: str
    """Of the prompt."""
    prompt_version: str
    """Of the prompt."""
    target_id: str
    """The id of that one."""
    undone_at: str
    """When it was undone."""


class _Detail(TypedDict):
    message: str
    """What there is to say."""


class Detail(_Detail, total=False):
    location: str
    """Where: such as query.limit or body.strength."""


class DiffCounts(TypedDict):
    added: int
    """Memories that were not active at the first instant."""
    changed: int
    """Memories that say something else, or bear other tags."""
    gone: int
    """Memories that were not active at the second instant."""
    passing: int
    """Memories that came and went in between, or changed and changed back."""
    unchanged: int
    """Memories that say at both instants the same."""


class _DiffEntry(TypedDict):
    kind: Literal["group", "session", "dream", "team"]
    """What sort it is."""
    lineage_id: str
    """The line of versions that it belongs to."""
    steps: list[DiffStep]
    """What became of it in between, oldest first."""


class DiffEntry(_DiffEntry, total=False):
    after: DiffVersion
    back: bool
    """It had been remembered before the first instant."""
    before: DiffVersion
    marked: str
    """How the statement became another one, word by word: [-gone-]{+new+}."""


_DiffReply = TypedDict(
    "_DiffReply",
    {
        "added": "list[DiffEntry]",
        "changed": "list[DiffEntry]",
        "counts": "DiffCounts",
        "from": "str",
        "gone": "list[DiffEntry]",
        "group_id": "str",
        "success": "bool",
        "to": "str",
    },
)


class DiffReply(_DiffReply, total=False):
    cut: bool
    """There is more than an answer holds."""
    passing: list[DiffEntry]
    """Memories that came and went in between, or changed and changed back."""


class _DiffStep(TypedDict):
    action: Literal["keep", "update", "create", "delete", "restore", "archive", "strength", "weight", "scope", "undo"]
    """What was done."""
    at: str
    """When."""
    memory_id: str
    """Names the version."""
    version: int
    """Which version, from 1."""


class DiffStep(_DiffStep, total=False):
    change_reason: str
    """Why."""
    job: str
    """What kind of work the run did, or the one that was undone."""
    run_id: str
    """The run that did it; left out where a person did."""
    undone_run_id: str
    """Of an undo: the run that it undid."""


class DiffVersion(TypedDict):
    memory_id: str
    """Names the version."""
    statement: str
    """What is remembered."""
    tags: list[str]
    """Tags."""
    version: int
    """Which version, from 1."""


class DreamCounts(TypedDict):
    batches: int
    """Questions that the material was put in."""
    calls: int
    """Calls of models."""
    memories: int
    """Memory versions that were new."""
    sessions: int
    """Sessions."""


class _DreamItem(TypedDict):
    created_at: str
    """When its lineage was born."""
    evidence: int
    """Messages that it rests on."""
    kind: Literal["group", "session", "dream", "team"]
    """What sort it is."""
    last_supported_at: str
    """When something last bore it out."""
    lineage_id: str
    """The line of versions that it belongs to."""
    memory_id: str
    """Names the version."""
    origin: str
    """person where somebody wrote it by hand, else model."""
    parent_id: str | None
    """Names the version before; null of the first."""
    said_at: str
    """When the chat said it."""
    sources: list[SourceMemory]
    """Memories that it rests on."""
    statement: str
    """What is remembered."""
    status: Literal["active", "superseded", "deprecated", "archived", "held"]
    """How it stands."""
    strength: float
    """How well supported it is, 0 to 1."""
    tags: list[str]
    """Tags."""
    updated_at: str
    """When this version was made."""
    version: int
    """Which version, from 1."""
    weight: float
    """How useful it proved when recalled, 0 to 2; 1 at first."""


class DreamItem(_DreamItem, total=False):
    author: str
    """Display name of the author."""
    done: bool
    """A todo that has been closed."""
    due_on: str
    """Of a plan: its last day, at midnight UTC."""
    judge_again: str
    """Why the next run of evolve judges it again; a memory that is held comes back or ends by that."""
    scope: str
    """How far it reaches: group, or person; left out where nobody has said."""
    session_id: str
    """The session."""
    type: str
    """Which sort of item; left out of the narrative."""


class _DreamPage(TypedDict):
    group_id: str
    """The group."""
    items: list[DreamItem]
    """Preferences, themes and open threads."""
    narrative: DreamItem | None
    """Of the last dream; null where there is none."""
    success: bool
    """true; what failed is a problem."""


class DreamPage(_DreamPage, total=False):
    dream_time: str
    """When the last dream ended."""
    held_runs: list[str]
    """Dreams that wait for a person."""
    material: DreamCounts
    message: str
    """What there is to say."""
    run_id: str
    """The run."""
    status: Literal["running", "succeeded", "held", "deferred", "failed", "rejected"]
    """How it stands."""
    through_session: str
    """The session that the dream reaches up to."""


class _EditMemoryBody(TypedDict):
    reason: str
    """Why: it is kept with the change."""


class EditMemoryBody(_EditMemoryBody, total=False):
    due_on: str
    """The date of a plan; none takes it away."""
    scope: Literal["group", "person"]
    """How far it reaches, in a request of its own: no further than its group, or to the groups in which its person
    is linked.
    """
    statement: str
    """What it is to say; left out, it says what it says."""
    tags: list[str]
    """Its tags, in place of those that it has."""
    type: Literal["fact", "habit", "opinion", "rule", "plan", "culture"]
    """What kind of thing it says; a new memory is a fact."""


class _EditMessageBody(TypedDict):
    text: str
    """What the message says now."""


class EditMessageBody(_EditMessageBody, total=False):
    edited_at: str
    """When it was edited; now where it is not given. An older text than the stored one changes nothing."""


class EntitiesReply(TypedDict):
    entities: list[EntityReply]
    """People and things."""
    group_id: str
    """The group."""
    success: bool
    """true; what failed is a problem."""
    total: int
    """Rows of all pages."""


class _EntityChangeReply(TypedDict):
    action: str
    """What was done to the entity."""
    change_id: str
    """The change's id."""
    change_reason: str
    """Why."""
    entity_id: str
    """The entity's id."""
    evidence: list[Evidence]
    """What it rests on: messages and words in them."""
    run_id: str | None
    """The run."""
    timestamp: str
    """When."""


class EntityChangeReply(_EntityChangeReply, total=False):
    claim_id: str
    """Names the version of what is said."""
    new_text: str
    """What it says now."""
    old_text: str
    """What it said before."""
    other_id: str
    """The entity merged into, or out of."""
    subject: str
    """The name that it goes by."""
    undone_run_id: str
    """Of an undo: the run that it undid."""


class _EntityLink(TypedDict):
    created_at: str
    """When it was made."""
    entity_id: str
    """The entity's id."""
    group_id: str
    """The group."""
    proved: bool
    """Both had an account of the same id."""


class EntityLink(_EntityLink, total=False):
    reason: str
    """Why."""


class _EntityReply(TypedDict):
    accounts: list[str]
    """Author ids of its platform."""
    aliases: list[str]
    """Other names, without the subject."""
    created_at: str
    """When it was made."""
    entity_id: str
    """The entity's id."""
    features: list[FeatureReply]
    """Attributes."""
    group_id: str
    """The group."""
    impressions: list[ImpressionReply]
    """Sentences about it."""
    kind: Literal["person", "bot", "thing"]
    """What sort it is."""
    merged: list[str]
    """Those that a person said are this one."""
    relations: list[RelationReply]
    """How it stands to others."""
    status: Literal["active", "merged", "withdrawn"]
    """How it stands."""
    subject: str
    """The name that it goes by."""
    updated_at: str
    """When it changed last."""
    version: int
    """Which version, from 1."""


class EntityReply(_EntityReply, total=False):
    links: list[EntityLink]
    """Who the entity is in other groups, as far as the token sees them."""
    merged_into: str
    """The one that it is part of."""


class ErasureLeft(TypedDict):
    rows: int
    """How many."""
    what: str
    """Where something stays."""
    why: str
    """Why it stays."""


class _Evidence(TypedDict):
    author: str
    """Display name of the author."""
    message_id: str
    """The message's id."""
    quote: str
    """Words that stand in the message."""


class Evidence(_Evidence, total=False):
    author_id: str
    """Id of the author."""
    local_date: str
    """The date of the group's calendar."""
    sent_at: str
    """When it was sent."""


class EvidenceReply(TypedDict):
    author: str
    """Display name of the author."""
    message_id: str
    """The message's id."""
    quote: str
    """Words that stand in the message."""


class _EvolveReply(TypedDict):
    changes: list[ChangeReply]
    """What changed."""
    group_id: str
    """The group."""
    stats: EvolveStats
    success: bool
    """true; what failed is a problem."""


class EvolveReply(_EvolveReply, total=False):
    dry_run: bool
    """Nothing was written."""
    error: str
    """Why it failed."""
    evolution_time: str
    """When it was applied."""
    message: str
    """What there is to say."""
    messages: MessageStats
    refusals: list[Refusal]
    """Lines of answers that were not accepted, and by which rule."""
    run_id: str
    """The run."""
    status: Literal["running", "succeeded", "held", "deferred", "failed", "rejected"]
    """How it stands."""
    warnings: list[str]
    """What did not go as it should have."""


class _EvolveStats(TypedDict):
    created: int
    """Memories that were created."""
    deleted: int
    """Memories that were deleted."""
    held: int
    """What is pending review."""
    kept: int
    """Memories that stayed as they were."""
    refused: int
    """Lines that were not accepted."""
    updated: int
    """Memories that got a new version."""


class EvolveStats(_EvolveStats, total=False):
    archived: int
    """Memories that were archived."""


class Factors(TypedDict):
    recency: float
    """0 to 1, by when it was last supported."""
    similarity: float
    """To the query, calibrated, 0 to 1."""
    strength: float
    """How well supported it is, 0 to 1."""
    weight: float
    """How useful it proved when recalled, 0 to 2; 1 at first."""


class FeatureReply(TypedDict):
    claim_id: str
    """Names the version of what is said."""
    confidence: float
    """How sure the observation was, 0 to 1."""
    evidence: list[Evidence]
    """What it rests on: messages and words in them."""
    key: str
    """What the attribute is."""
    last_supported_at: str
    """When something last bore it out."""
    said_by: list[str]
    """Author ids of who said so."""
    self: bool
    """Its own words."""
    strength: float
    """How well supported it is, 0 to 1."""
    value: str
    """What it is."""
    version: int
    """Which version, from 1."""


class _FeedbackBody(TypedDict):
    response: str
    """What the bot answered."""


class FeedbackBody(_FeedbackBody, total=False):
    session_id: str
    """Its newest context, where usage_id is not known."""
    usage_id: str
    """Of the context that was given."""


class FeedbackMemory(TypedDict):
    memory_id: str
    """Names the version."""
    reference_score: float
    """How surely the answer used it, 0 to 1."""
    statement: str
    """What is remembered."""
    was_referenced: bool
    """The answer used it."""
    weight: float
    """How useful it proved when recalled, 0 to 2; 1 at first."""


class _FeedbackReply(TypedDict):
    group_id: str
    """The group."""
    memories: list[FeedbackMemory]
    """Memories."""
    offered: int
    """Memories that were offered."""
    referenced: int
    """How often the answer used it."""
    success: bool
    """true; what failed is a problem."""


class FeedbackReply(_FeedbackReply, total=False):
    known: bool
    """It was reported before: nothing has moved."""
    message: str
    """What there is to say."""
    session_id: str
    """The session."""
    usage_id: str
    """Names the context, to report what the answer used."""
    warnings: list[str]
    """What did not go as it should have."""


class ForgetBody(TypedDict, total=False):
    dry_run: bool
    """Do it, count, and take it back."""
    keep_names: list[str]
    """Names that stay in the words of others, such as Will."""


class _ForgetReply(TypedDict):
    changed: dict[str, int]
    """Rows in which something was taken out, by table."""
    created_at: str
    """When it was made."""
    deleted: dict[str, int]
    """Rows that were deleted, by table."""
    erased: int
    """Memories that are gone in all versions."""
    group_id: str
    """The group."""
    held: int
    """Memories that are not recalled until they have been judged again without the author."""
    left: list[ErasureLeft]
    """What stays on purpose."""
    messages: int
    """Messages of the author that were deleted."""
    searched: int
    """Values that the final check has read."""
    success: bool
    """true; what failed is a problem."""
    team: int
    """A team's memories that were made of such."""


class ForgetReply(_ForgetReply, total=False):
    dry_run: bool
    """Nothing was written."""
    erasure_id: str
    """The receipt's id; none where nothing was there, and of a dry run."""


class _GroupReply(TypedDict):
    active: int
    """Active memories."""
    day_boundary: str
    """The local time at which its dates begin: HH:MM."""
    dream_idle: str
    """After which silence of a session it dreams; empty = as configured."""
    dream_interval: str
    """At least so long after its last dream; empty = as configured."""
    dream_sessions: str
    """After so many sessions it dreams; empty = as configured."""
    group_id: str
    """The group."""
    impressions: str
    """Whether people and things are followed here: on, off, or empty = as configured."""
    language: str
    """zh, en, or empty = by its messages."""
    name: str
    """What people call it."""
    paused: bool
    """A person has paused it."""
    pending: int
    """Messages that wait for a run."""
    private: str
    """on where no other group reads of it, or off; empty = on while the accounts of two people at most are known
    in it.
    """
    session_silence: str
    """After which silence a session ends; empty = as configured."""
    state: str
    """How it stands."""
    team: str
    """The team whose memories searches and contexts of it include: a name, off, or empty = as configured."""
    time_zone: str
    """IANA name; empty = UTC."""


class GroupReply(_GroupReply, total=False):
    last_run: Run
    oldest_pending: str
    """When the oldest pending message was sent."""
    setbacks: list[Setback]
    """Jobs that fail here, and since when."""


class _GroupStatsReply(TypedDict):
    active: int
    """Active memories."""
    core: int
    """Active memories that weigh 1.5 or more."""
    days: list[DayStats]
    """By day, oldest first."""
    established: int
    """Active memories of strength 0.5 or more."""
    groups: int
    """Groups."""
    kinds: list[KindStats]
    """By kind of memory."""
    lineages: int
    """Memories, each with one version or more."""
    most_used: list[MemoryUsageStats]
    """Active memories that answers used most."""
    newest: str | None
    """When the newest active version was made."""
    oldest: str | None
    """When the oldest active memory was born."""
    sessions: int
    """Sessions."""
    strength: list[int]
    """Active memories by tenths of strength."""
    success: bool
    """true; what failed is a problem."""
    summaries: int
    """Active memories that sum a session up."""
    tentative: int
    """Active memories of a strength below 0.5."""
    usage: UsageStats
    vectors: VectorStats
    versions: int
    """Versions."""
    weight: list[int]
    """Active memories by tenths of weight."""


class GroupStatsReply(_GroupStatsReply, total=False):
    group_id: str
    """The group."""


class _GroupsReply(TypedDict):
    groups: list[GroupReply]
    """Groups."""
    success: bool
    """true; what failed is a problem."""


class GroupsReply(_GroupsReply, total=False):
    next: str
    """To go on after; left out where there are no more."""


class Head(TypedDict):
    memory_id: str
    """Names the version."""
    version: int
    """Which version, from 1."""


class HeldReply(TypedDict):
    chunk_no: int
    """Which chunk of the run, from 1."""
    reason: str
    """Why."""
    status: str
    """How it stands."""
    steps: list[Step]
    """What would be applied."""
    whole: bool
    """The whole plan of the chunk is held."""


class _HistoryEntry(TypedDict):
    memory_id: str
    """Names the version."""
    parent_id: str | None
    """Names the version before; null of the first."""
    said_at: str
    """When the chat said it."""
    statement: str
    """What is remembered."""
    status: Literal["active", "superseded", "deprecated", "archived", "held"]
    """How it stands."""
    version: int
    """Which version, from 1."""


class HistoryEntry(_HistoryEntry, total=False):
    author: str
    """Display name of the author."""
    change_summary: str
    """Why this version was made."""
    created_at: str
    """When it was made."""
    judge_again: str
    """Why the next run of evolve judges it again; a memory that is held comes back or ends by that."""
    updated_at: str
    """When it changed last."""


class _HistoryReply(TypedDict):
    current_version: int
    """The newest version."""
    history: list[HistoryEntry]
    """The versions, oldest first."""
    memory_id: str
    """Names the version."""
    success: bool
    """true; what failed is a problem."""


class HistoryReply(_HistoryReply, total=False):
    cut: bool
    """There is more than an answer holds."""


class ImpressionReply(TypedDict):
    claim_id: str
    """Names the version of what is said."""
    confidence: float
    """How sure the observation was, 0 to 1."""
    evidence: list[Evidence]
    """What it rests on: messages and words in them."""
    last_supported_at: str
    """When something last bore it out."""
    said_by: list[str]
    """Author ids of who said so."""
    self: bool
    """Its own words."""
    strength: float
    """How well supported it is, 0 to 1."""
    text: str
    """The text."""
    version: int
    """Which version, from 1."""


class KindStats(TypedDict):
    active: int
    """Active memories."""
    archived: int
    """Memories that were archived."""
    deleted: int
    """Memories that were deleted."""
    held: int
    """What is pending review."""
    kind: Literal["group", "session", "dream", "team"]
    """What sort it is."""
    versions: int
    """Versions."""


class LinkBody(TypedDict):
    entity_id: str
    """The entity's id there."""
    group_id: str
    """The other group's id."""


class LinksReply(TypedDict):
    entity_id: str
    """The entity's id."""
    group_id: str
    """The group."""
    links: list[EntityLink]
    """Who the entity is in other groups, as far as the token sees them."""
    success: bool
    """true; what failed is a problem."""


class ListReply(TypedDict):
    group_id: str
    """The group."""
    memories: list[Memory]
    """Memories."""
    success: bool
    """true; what failed is a problem."""
    total: int
    """Rows of all pages."""


class _Memory(TypedDict):
    created_at: str
    """When its lineage was born."""
    kind: Literal["group", "session", "dream", "team"]
    """What sort it is."""
    last_supported_at: str
    """When something last bore it out."""
    lineage_id: str
    """The line of versions that it belongs to."""
    memory_id: str
    """Names the version."""
    origin: str
    """person where somebody wrote it by hand, else model."""
    parent_id: str | None
    """Names the version before; null of the first."""
    said_at: str
    """When the chat said it."""
    statement: str
    """What is remembered."""
    status: Literal["active", "superseded", "deprecated", "archived", "held"]
    """How it stands."""
    strength: float
    """How well supported it is, 0 to 1."""
    tags: list[str]
    """Tags."""
    type: str
    """Which sort of item; left out of the narrative."""
    updated_at: str
    """When this version was made."""
    version: int
    """Which version, from 1."""
    weight: float
    """How useful it proved when recalled, 0 to 2; 1 at first."""


class Memory(_Memory, total=False):
    author: str
    """The person who wrote this version; left out where a job did."""
    due_on: str
    """Of a plan: its last day, at midnight UTC."""
    judge_again: str
    """Why the next run of evolve judges it again; a memory that is held comes back or ends by that."""
    scope: str
    """How far it reaches: group, or person; left out where nobody has said."""
    session_id: str
    """The session."""


class _MemoryReply(TypedDict):
    created_at: str
    """When its lineage was born."""
    kind: Literal["group", "session", "dream", "team"]
    """What sort it is."""
    last_supported_at: str
    """When something last bore it out."""
    lineage_id: str
    """The line of versions that it belongs to."""
    memory_id: str
    """Names the version."""
    origin: str
    """person where somebody wrote it by hand, else model."""
    parent_id: str | None
    """Names the version before; null of the first."""
    said_at: str
    """When the chat said it."""
    statement: str
    """What is remembered."""
    status: Literal["active", "superseded", "deprecated", "archived", "held"]
    """How it stands."""
    strength: float
    """How well supported it is, 0 to 1."""
    success: bool
    """true; what failed is a problem."""
    tags: list[str]
    """Tags."""
    type: str
    """Which sort of item; left out of the narrative."""
    updated_at: str
    """When this version was made."""
    version: int
    """Which version, from 1."""
    weight: float
    """How useful it proved when recalled, 0 to 2; 1 at first."""


class MemoryReply(_MemoryReply, total=False):
    author: str
    """Display name of the author."""
    due_on: str
    """Of a plan: its last day, at midnight UTC."""
    judge_again: str
    """Why the next run of evolve judges it again; a memory that is held comes back or ends by that."""
    scope: str
    """How far it reaches: group, or person; left out where nobody has said."""
    session_id: str
    """The session."""


class MemoryUsageStats(TypedDict):
    group_id: str
    """The group."""
    memory_id: str
    """Names the version."""
    offered: int
    """In how many contexts it was offered."""
    referenced: int
    """How often the answer used it."""
    statement: str
    """What is remembered."""


class _MessageChanged(TypedDict):
    group_id: str
    """The group."""
    id: str
    """The message's id."""
    success: bool
    """true; what failed is a problem."""


class MessageChanged(_MessageChanged, total=False):
    deleted: int
    """1: the message is gone, and does not come in again."""
    edited: int
    """1: it has a newer text."""
    reacted: int
    """1: it has other reactions now."""
    same: int
    """1: it stood so already, or the message is gone."""
    waiting: int
    """1: it is done when the group's run has ended."""


class MessageStats(TypedDict):
    cited: int
    """Messages that something rests on."""
    considered: int
    """Messages that were shown to the model, and not cited."""
    deferred: int
    """Messages that are still pending."""
    filtered: int
    """Messages that no model is shown."""


class _MessagesAdded(TypedDict):
    bad_count: int
    """Lines that were not taken."""
    group_id: str
    """The group."""
    known: int
    """Messages that were stored already, and stayed as they were."""
    new: int
    """Messages that were stored."""
    success: bool
    """Every line was stored, known, or erased before."""


class MessagesAdded(_MessagesAdded, total=False):
    bad: list[BadLine]
    """Lines that were not taken, the first ones."""
    changed: int
    """Of the known ones: those whose text is another one now. The stored text stays."""
    deleted: int
    """Memories that were deleted."""
    edited: int
    """A person has changed it before."""
    erased: int
    """Messages that were erased with their author (`reverie erase`), and do not come in again."""
    filtered: dict[str, int]
    """Messages that no model is shown, by reason."""
    reacted: int
    """Messages that have other reactions now."""
    same: int
    """Changes that were known already, or came to a message that is gone."""
    same_id: int
    """Messages that had the id of another one in this body, and are kept under one of their own."""
    waiting: int
    """Of the changes: done when the message has come, or the group's run has ended."""


class _MessagesReply(TypedDict):
    group_id: str
    """The group."""
    messages: list[ConversationMessage]
    """Messages, oldest first."""
    success: bool
    """true; what failed is a problem."""


class MessagesReply(_MessagesReply, total=False):
    newer: bool
    """There are newer ones."""
    older: bool
    """There are older ones."""


class Night(TypedDict):
    archived: int
    """Memories that were archived."""
    changes: list[Change]
    """What changed."""
    date: str
    """A date: YYYY-MM-DD."""
    runs: list[RunEntry]
    """Runs, newest first."""
    since: str
    """From this instant on."""
    stats: Stats
    until: str
    """Before this instant."""


class _NightsReply(TypedDict):
    group_id: str
    """The group."""
    nights: list[Night]
    """Nights, newest first."""
    success: bool
    """true; what failed is a problem."""


class NightsReply(_NightsReply, total=False):
    cut: bool
    """There is more than an answer holds."""
    more: bool
    """There are older ones."""
    next: str
    """To go on after; left out where there are no more."""


class _OneEntityReply(TypedDict):
    accounts: list[str]
    """Author ids of its platform."""
    aliases: list[str]
    """Other names, without the subject."""
    created_at: str
    """When it was made."""
    entity_id: str
    """The entity's id."""
    features: list[FeatureReply]
    """Attributes."""
    group_id: str
    """The group."""
    impressions: list[ImpressionReply]
    """Sentences about it."""
    kind: Literal["person", "bot", "thing"]
    """What sort it is."""
    merged: list[str]
    """Those that a person said are this one."""
    relations: list[RelationReply]
    """How it stands to others."""
    status: Literal["active", "merged", "withdrawn"]
    """How it stands."""
    subject: str
    """The name that it goes by."""
    success: bool
    """true; what failed is a problem."""
    updated_at: str
    """When it changed last."""
    version: int
    """Which version, from 1."""


class OneEntityReply(_OneEntityReply, total=False):
    links: list[EntityLink]
    """Who the entity is in other groups, as far as the token sees them."""
    merged_into: str
    """The one that it is part of."""


class _OneGroupReply(TypedDict):
    active: int
    """Active memories."""
    day_boundary: str
    """The local time at which its dates begin: HH:MM."""
    dream_idle: str
    """After which silence of a session it dreams; empty = as configured."""
    dream_interval: str
    """At least so long after its last dream; empty = as configured."""
    dream_sessions: str
    """After so many sessions it dreams; empty = as configured."""
    group_id: str
    """The group."""
    impressions: str
    """Whether people and things are followed here: on, off, or empty = as configured."""
    language: str
    """zh, en, or empty = by its messages."""
    name: str
    """What people call it."""
    paused: bool
    """A person has paused it."""
    pending: int
    """Messages that wait for a run."""
    private: str
    """on where no other group reads of it, or off; empty = on while the accounts of two people at most are known
    in it.
    """
    session_silence: str
    """After which silence a session ends; empty = as configured."""
    state: str
    """How it stands."""
    success: bool
    """true; what failed is a problem."""
    team: str
    """The team whose memories searches and contexts of it include: a name, off, or empty = as configured."""
    time_zone: str
    """IANA name; empty = UTC."""


class OneGroupReply(_OneGroupReply, total=False):
    last_run: Run
    oldest_pending: str
    """When the oldest pending message was sent."""
    setbacks: list[Setback]
    """Jobs that fail here, and since when."""


class _Origin(TypedDict):
    deployment: str
    """What the deployment is called."""
    lineage_id: str
    """And its line there."""
    made_at: str
    """When the version was made."""
    memory_id: str
    """Names the version there."""
    messages: int
    """How many messages it rests on."""
    version: int
    """Which version there, from 1."""


class Origin(_Origin, total=False):
    job: str
    """The job that made it; left out for a person's."""
    model: str
    """The model."""
    prompt_version: str
    """Of the prompt."""


class _Problem(TypedDict):
    detail: str
    """What happened, to what, and what to do next."""
    status: int
    """The HTTP status."""
    title: str
    """What the status says."""
    type: str
    """about:blank: the status says what kind of problem it is."""


class Problem(_Problem, total=False):
    current: TeamMemory
    errors: list[Detail]
    """Each thing that is wrong with the request, the first ones."""
    findings: list[ScanFinding]
    """What was found that may not be kept, the first ones."""
    head_id: str
    """Of a write to an old version: the memory_id of its lineage's head."""
    head_version: int
    """Of a write to an old version: the version of its lineage's head."""
    instance: str
    """The id of the request, as in its answer's X-Request-Id."""


class _ProposalBody(TypedDict):
    action: Literal["create", "update", "delete"]
    """What is to be done."""
    reason: str
    """Why."""


class ProposalBody(_ProposalBody, total=False):
    evidence: list[ProposalEvidence]
    """Messages that say so."""
    memory_id: str
    """The head that is to be updated or deleted."""
    statement: str
    """What is to be remembered (create, update)."""


class _ProposalEvidence(TypedDict):
    message_id: str
    """A message of the group."""


class ProposalEvidence(_ProposalEvidence, total=False):
    quote: str
    """Words that stand in it."""


class ProposalReply(TypedDict):
    group_id: str
    """The group."""
    message: str
    """What there is to say."""
    run_id: str
    """The run."""
    status: Literal["running", "succeeded", "held", "deferred", "failed", "rejected"]
    """How it stands."""
    success: bool
    """true; what failed is a problem."""


class ReasonBody(TypedDict, total=False):
    reason: str
    """Why: it is kept with the change."""


class _RecallCandidate(TypedDict):
    factors: Factors
    fate: str
    """Its outcome: offered, or why not."""
    kind: Literal["group", "session", "dream", "team"]
    """What sort it is."""
    last_supported_at: str
    """When something last bore it out."""
    lineage_id: str
    """The line of versions that it belongs to."""
    memory_id: str
    """Names the version."""
    score: float
    """How well it fits."""
    statement: str
    """What is remembered."""
    status: Literal["active", "superseded", "deprecated", "archived", "held"]
    """active, or archived: no longer current, and given only where no active memory bears on the query."""
    tags: list[str]
    """Tags."""
    updated_at: str
    """When it changed last."""
    version: int
    """Which version, from 1."""
    words: float
    """The statement in pieces, each with the version that brought it."""


class RecallCandidate(_RecallCandidate, total=False):
    from_group_id: str
    """The linked group whose it is; left out for what is the group's own, or its team's."""


class _Recalled(TypedDict):
    candidates: list[RecallCandidate]
    """Every memory that was looked at, best first."""
    counts: ContextCounts
    entities: list[ContextEntity]
    """People and things."""
    group_id: str
    """The group."""
    max_tokens: int
    """Tokens that the text may have."""
    memories: list[ContextMemory]
    """Memories."""
    min_similarity: float
    """Least similarity of a memory that is offered."""
    query: str
    """What was asked."""
    quotes: list[ContextQuote]
    """Earlier messages from outside of the session that bear on the query, best first."""
    success: bool
    """true; what failed is a problem."""
    text: str
    """The text."""
    tokens: int
    """Estimated tokens."""
    trigger: str
    """What decides whether memories are looked up."""


class Recalled(_Recalled, total=False):
    session_id: str
    """The session."""
    short_term: ContextShortTerm
    skipped: str
    """Why no memories were looked up; left out where they were."""
    usage_id: str
    """Names the context, to report what the answer used."""
    warnings: list[str]
    """What did not go as it should have."""


class _Refusal(TypedDict):
    detail: str
    """What happened, to what, and what to do next."""
    line: int
    """Which line, from 1."""
    rule: str
    """The rule that refused it."""


class Refusal(_Refusal, total=False):
    action: str
    """What the line would have done."""
    handle: str
    """As the model named the memory."""


class RejectBody(TypedDict, total=False):
    requeue: bool
    """Make its messages pending again."""


class RejectReply(TypedDict):
    requeued: int
    """Messages, or memories of dreams, that are pending again."""
    run_id: str
    """The run."""
    success: bool
    """true; what failed is a problem."""


class RelationReply(TypedDict):
    claim_id: str
    """Names the version of what is said."""
    confidence: float
    """How sure the observation was, 0 to 1."""
    evidence: list[Evidence]
    """What it rests on: messages and words in them."""
    kind: str
    """What sort it is."""
    last_supported_at: str
    """When something last bore it out."""
    said_by: list[str]
    """Author ids of who said so."""
    self: bool
    """Its own words."""
    strength: float
    """How well supported it is, 0 to 1."""
    target: str
    """Whom or what, as it was named."""
    target_id: str | None
    """The id of that one."""
    version: int
    """Which version, from 1."""


ReplayBody = TypedDict(
    "ReplayBody",
    {
        "from": "str",
    },
)


class _Resting(TypedDict):
    kind: Literal["group", "session", "dream", "team"]
    """What sort it is."""
    lineage_id: str
    """The line of versions that it belongs to."""
    memory_id: str
    """Names the version."""
    statement: str
    """What is remembered."""


class Resting(_Resting, total=False):
    judge_again: str
    """Why the next run of evolve judges it again."""


class _Run(TypedDict):
    attempt: int
    """Which attempt at the same job and window, from 1."""
    finished_at: str | None
    """When it ended; null while it runs."""
    group_id: str
    """The group."""
    job: str
    """What it did: evolve, dream, extract, impression, maintain or propose."""
    model: str
    """The model."""
    prompt_sha256: str
    """Of the prompt."""
    prompt_version: str
    """Of the prompt."""
    run_id: str
    """The run."""
    started_at: str
    """When it began."""
    stats: Stats
    status: Literal["running", "succeeded", "held", "deferred", "failed", "rejected"]
    """How it stands."""
    window_since: str
    """From this instant on."""
    window_until: str
    """Before this instant."""


class Run(_Run, total=False):
    error: str
    """Why it failed."""
    session_id: str
    """The session."""
    undone_at: str
    """When it was undone."""


class _RunEntry(TypedDict):
    attempt: int
    """Which attempt at the same job and window, from 1."""
    finished_at: str | None
    """When it ended; null while it runs."""
    group_id: str
    """The group."""
    job: str
    """What it did: evolve, dream, extract, impression, maintain or propose."""
    model: str
    """The model."""
    prompt_sha256: str
    """Of the prompt."""
    prompt_version: str
    """Of the prompt."""
    run_id: str
    """The run."""
    spend: Spend
    started_at: str
    """When it began."""
    stats: Stats
    status: Literal["running", "succeeded", "held", "deferred", "failed", "rejected"]
    """How it stands."""
    window_since: str
    """From this instant on."""
    window_until: str
    """Before this instant."""


class RunEntry(_RunEntry, total=False):
    error: str
    """Why it failed."""
    session_id: str
    """The session."""
    undone_at: str
    """When it was undone."""


class _RunReply(TypedDict):
    calls: list[Call]
    """Calls of models, in order."""
    changes: list[ChangeReply]
    """What changed."""
    chunks: list[Chunk]
    """The chunks of the run, in order."""
    decisions: list[Decision]
    """Decisions on the facts that the run would create."""
    held: list[HeldReply]
    """What is pending review."""
    run: Run
    spend: Spend
    success: bool
    """true; what failed is a problem."""


class RunReply(_RunReply, total=False):
    cut: bool
    """There is more than an answer holds."""
    entities: list[EntityChangeReply]
    """What a run changed about people and things."""
    setback: Setback


class _RunningReply(TypedDict):
    group_id: str
    """The group."""
    status: Literal["running", "succeeded", "held", "deferred", "failed", "rejected"]
    """How it stands."""
    success: bool
    """true; what failed is a problem."""


class RunningReply(_RunningReply, total=False):
    run_id: str
    """Where it has come that far."""


class _RunsReply(TypedDict):
    runs: list[RunEntry]
    """Runs, newest first."""
    success: bool
    """true; what failed is a problem."""


class RunsReply(_RunsReply, total=False):
    more: bool
    """There are older ones."""


_ScanFinding = TypedDict(
    "_ScanFinding",
    {
        "class": "str",
        "excerpt": "str",
        "rule": "str",
    },
)


class ScanFinding(_ScanFinding, total=False):
    where: str
    """The field that it stands in."""


class _SearchReply(TypedDict):
    query: str
    """What was asked."""
    results: list[SearchResult]
    """What was found, best first."""
    success: bool
    """true; what failed is a problem."""


class SearchReply(_SearchReply, total=False):
    message: str
    """What there is to say."""
    warnings: list[str]
    """What did not go as it should have."""


class _SearchResult(TypedDict):
    kind: Literal["group", "session", "dream", "team"]
    """What sort it is."""
    memory_id: str
    """Names the version."""
    related: bool
    """Whether the score reaches 0.7, where related texts begin for every embedding model."""
    score: float
    """How much it bears on the query, by meaning and by words, 0 to 1."""
    statement: str
    """What is remembered."""
    status: Literal["active", "superseded", "deprecated", "archived", "held"]
    """active, or archived: no longer current, and behind all active ones."""
    updated_at: str
    """When this version was made."""
    version: int
    """Which version, from 1."""


class SearchResult(_SearchResult, total=False):
    from_group_id: str
    """The linked group whose it is; left out for what is the group's own, or its team's."""


class SessionSummary(TypedDict):
    covers_since: str
    """When the first message that it covers was sent."""
    covers_until: str
    """When the last message that it covers was sent."""
    created_at: str
    """When it was made."""
    first_message_id: str
    """The first message that it covers."""
    group_id: str
    """The group."""
    last_message_id: str
    """The last message that it covers."""
    messages: int
    """How many messages it covers."""
    run_id: str
    """The run."""
    session_id: str
    """The session."""
    summary: str
    """The text."""
    tokens: int
    """Estimated tokens."""
    turns: int
    """Turns."""
    updated_at: str
    """When it changed last."""


class _Setback(TypedDict):
    error: str
    """Why it failed."""
    failures: int
    """How many times in a row."""
    job: str
    """What it did: evolve, dream, extract, impression, maintain or propose."""
    retry_at: str
    """When it is tried again."""


class Setback(_Setback, total=False):
    parked_at: str
    """Since when the job waits for a person."""
    session_id: str
    """The session."""
    updated_at: str
    """When it changed last."""


class _ShowReply(TypedDict):
    evidence: list[Evidence]
    """What it rests on: messages and words in them."""
    group_id: str
    """The group."""
    history: list[HistoryEntry]
    """The versions, oldest first."""
    memory: Memory
    sources: list[SourceMemory]
    """Memories that it rests on."""
    success: bool
    """true; what failed is a problem."""
    usage: UsageCount


class ShowReply(_ShowReply, total=False):
    cut: bool
    """There is more than an answer holds."""


class Source(TypedDict):
    lineage_id: str
    """The line of versions that it belongs to."""
    memory_id: str
    """Names the version."""


class _SourceMemory(TypedDict):
    active: bool
    """Its memory still says so."""
    at: str
    """When its newest evidence was said."""
    kind: Literal["group", "session", "dream", "team"]
    """What sort it is."""
    lineage_id: str
    """The line of versions that it belongs to."""
    memory_id: str
    """Names the version."""
    statement: str
    """What is remembered."""


class SourceMemory(_SourceMemory, total=False):
    now: str
    """What its memory says by now, where that is otherwise."""
    session_id: str
    """The session."""
    summary: bool
    """It sums its session up."""


class Spend(TypedDict):
    cached_tokens: int
    """Of input_tokens, those that the provider had in its cache."""
    calls: int
    """Calls of models."""
    cost_usd: float
    """US dollars."""
    input_tokens: int
    """Tokens of what models were asked."""
    output_tokens: int
    """Tokens of what models answered."""


class _Stats(TypedDict):
    base: int
    """Active memories when the run began."""
    chunks: int
    """Chunks."""
    cited: int
    """Messages that something rests on."""
    considered: int
    """Messages that were shown to the model, and not cited."""
    created: int
    """Memories that were created."""
    deferred: int
    """Messages that are still pending."""
    deleted: int
    """Memories that were deleted."""
    filtered: int
    """Messages that no model is shown."""
    held: int
    """What is pending review."""
    kept: int
    """Memories that stayed as they were."""
    refused: int
    """Lines that were not accepted."""
    rewritten: int
    """Active memories that the run has deleted or rewritten."""
    updated: int
    """Memories that got a new version."""


class Stats(_Stats, total=False):
    approved: int
    """It was held, and a person let it pass."""
    archived: int
    """Memories that were archived."""
    asked: int
    """Questions of a dream in all."""
    batches: int
    """Questions that the material was put in."""
    closed: int
    """Todos among those rewritten that a dream has closed."""
    compared: int
    """Questions asked to compare facts with memories."""
    cut: int
    """Messages of which only the beginning was read, for their length."""
    days: int
    """Of how many days earlier messages were shown to the model as context."""
    edited: bool
    """A person has changed it before."""
    folded: int
    """Messages that a rolling summary covers now."""
    limit: int
    """Messages that a chunk of the run may have by now."""
    material: int
    """Memory versions that a dream took in."""
    open_ended: bool
    """The window's end came from the clock."""
    plan: str
    """The hash of the plan in hand that it applied."""
    postponed: int
    """Observations that wait to be sure whom they are about."""
    pruned: int
    """What was removed for its age."""
    sessions: int
    """Sessions."""
    through: bool
    """All has been taken that was to be."""
    unanswered: bool
    """Nothing of the session was answered when the run began."""


class _Step(TypedDict):
    action: Literal["keep", "update", "create", "delete", "restore", "archive", "strength", "weight", "scope", "undo"]
    """What was done."""
    lineage_id: str
    """The line of versions that it belongs to."""


class Step(_Step, total=False):
    content_hash: str
    """Of the statement."""
    due_on: str
    """Of a plan: its last day, at midnight UTC."""
    evidence: list[Evidence]
    """What it rests on: messages and words in them."""
    head: Head
    judged: Literal["active", "superseded", "deprecated", "archived", "held"]
    """Of a memory that was to be judged again, what it is after this: active or held."""
    last_supported_at: str
    """When something last bore it out."""
    memory_id: str
    """Names the version."""
    old_statement: str
    """What it said before."""
    reason: str
    """Why."""
    replaces: str
    """The lineage that is deleted for it."""
    returns: bool
    """The memory was archived, and comes back by it."""
    session_id: str
    """The session."""
    sources: list[Source]
    """Memories that it rests on."""
    statement: str
    """What is remembered."""
    strength: float
    """How well supported it is, 0 to 1."""
    tags: list[str]
    """Tags."""
    type: str
    """Which sort of item; left out of the narrative."""


class _StrengthBody(TypedDict):
    strength: float
    """How well supported it is; from 0.5 it is established."""


class StrengthBody(_StrengthBody, total=False):
    reason: str
    """Why: it is kept with the change."""


class _TeamBody(TypedDict):
    statement: str
    """What is to be remembered, at most 500 characters."""


class TeamBody(_TeamBody, total=False):
    change_reason: str
    """Why: it is kept with the change."""
    created_at: str
    """When its lineage was born, where it is new here."""
    evidence: list[Evidence]
    """What it rests on; dropped unless [team] quotes is on here."""
    id: str
    """As in the address."""
    origin: Origin
    """Where the version was made; here, where it is left out."""
    status: Literal["active", "superseded", "deprecated", "archived", "held"]
    """active, or deprecated to delete it."""
    strength: float
    """How well supported it is, 0 to 1."""
    tags: list[str]
    """Tags; what no tag can be is left out."""
    updated_at: str
    """When this version was made there."""
    version: int
    """Not looked at."""
    version_id: str
    """Not looked at."""
    versions: list[TeamVersion]
    """Which there were before it, oldest first."""


class _TeamMemories(TypedDict):
    memories: list[TeamMemory]
    """Memories."""
    team: str
    """The team's name."""


class TeamMemories(_TeamMemories, total=False):
    next: str
    """To go on after; left out where there are no more."""


class _TeamMemory(TypedDict):
    change_reason: str
    """Why."""
    created_at: str
    """When its lineage was born."""
    id: str
    """Of its lineage: the same in every deployment."""
    origin: Origin
    statement: str
    """What is remembered."""
    status: Literal["active", "superseded", "deprecated", "archived", "held"]
    """How it stands."""
    strength: float
    """How well supported it is, 0 to 1."""
    tags: list[str]
    """Tags."""
    updated_at: str
    """When this version was made here."""
    version: int
    """Which version here, from 1."""
    version_id: str
    """Names the version; in quotes it is the ETag."""
    versions: list[TeamVersion]
    """Which were made before it, oldest first, without their words."""


class TeamMemory(_TeamMemory, total=False):
    evidence: list[Evidence]
    """What it rests on, where the deployment tells."""


class TeamVersion(TypedDict):
    deployment: str
    """What the deployment is called."""
    updated_at: str
    """When it was made."""
    version: int
    """Which version there, from 1."""
    version_id: str
    """Names the version where it was made."""


class UndoBody(TypedDict, total=False):
    before_sha256: str
    """The before_sha256 of a dry run: where something else is active by now, the answer is a 409."""
    dry_run: bool
    """Say what it would come to, and write nothing."""
    force: bool
    """Put back what others have changed since, too."""
    reason: str
    """Why: it is kept with the changes."""
    requeue: bool
    """Let what the run has read wait to be read again."""


class _UndoLeft(TypedDict):
    reason: str
    """Why."""
    statement: str
    """What it says, or what the person or thing is called."""


class UndoLeft(_UndoLeft, total=False):
    entity_id: str
    """The person or thing that it is, or is said of."""
    memory_id: str
    """The newest version."""


class _UndoReply(TypedDict):
    dry_run: bool
    """Nothing was written."""
    group_id: str
    """The group."""
    runs: list[Undone]
    """What became of each run."""
    success: bool
    """true; what failed is a problem."""


class UndoReply(_UndoReply, total=False):
    error: str
    """Why it failed."""


class _Undone(TypedDict):
    after_sha256: str
    """Hash of what is active afterwards: lineage, statement, status and tags of each memory."""
    before_sha256: str
    """The same, of what was active before it was undone."""
    began_at: str
    """When the run began."""
    changes: list[Change]
    """What became of memories; of a dry run, what would."""
    deprecated: int
    """Memories that the run had made, and that end."""
    entities: int
    """People and things that the run had made, or had learnt something of."""
    exact: bool
    """The group remembers again exactly what it did before the run."""
    job: str
    """What kind of work the run did."""
    left: list[UndoLeft]
    """What is not what it was before the run, and why."""
    nothing: bool
    """The run has left nothing to undo."""
    others: int
    """Memories that the run did not touch, and that others have made, changed or ended since it began to write."""
    rejected: int
    """Plans that waited for a person."""
    requeued: int
    """Messages, or memories of a dream, that wait to be read again."""
    restored: int
    """Memories that say again what they said before."""
    run_id: str
    """The run."""
    was_sha256: str
    """The same, of what was active before the run began to write."""
    weakened: int
    """Memories whose text stays, and whose strength goes back."""


class Undone(_Undone, total=False):
    cut: bool
    """There are more changes, or more that is left, than an answer holds."""
    undone_at: str
    """When it was undone."""


class _UsageCount(TypedDict):
    ignored: int
    """How often the answer did not use it."""
    offered: int
    """In how many contexts it was offered."""
    referenced: int
    """How often the answer used it."""


class UsageCount(_UsageCount, total=False):
    last_offered_at: str
    """When it was offered last."""


class UsageStats(TypedDict):
    ignored: int
    """How often the answer did not use it."""
    never: int
    """Active memories that were never offered."""
    offered: int
    """In how many contexts it was offered."""
    referenced: int
    """How often the answer used it."""


class VectorStats(TypedDict):
    missing: int
    """Active memories without a vector."""
    models: dict[str, int]
    """By model."""
    present: int
    """Active memories that can be searched."""


class _Webhook(TypedDict):
    created_at: str
    """When it was made."""
    events: list[str]
    """Types of events that it is sent; none for all."""
    failures: int
    """Attempts that have failed in a row."""
    group_id: str
    """The group whose events it is sent; empty for all."""
    statements: bool
    """Whether bodies repeat what memories say."""
    url: str
    """Where events are posted to."""
    waiting: int
    """Events that wait for it."""
    webhook_id: str
    """The webhook's id."""


class Webhook(_Webhook, total=False):
    disabled_at: str
    """Since when it is sent nothing."""
    failing_since: str
    """When it began to fail."""
    last_error: str
    """Why it failed last."""
    oldest_at: str
    """When the oldest event was made that waits for it."""


class WebhookReplayReply(TypedDict):
    events: int
    """Events that are sent again."""
    success: bool
    """true; what failed is a problem."""
    webhook_id: str
    """The webhook's id."""


class _WebhookReply(TypedDict):
    created_at: str
    """When it was made."""
    events: list[str]
    """Types of events that it is sent; none for all."""
    failures: int
    """Attempts that have failed in a row."""
    group_id: str
    """The group whose events it is sent; empty for all."""
    statements: bool
    """Whether bodies repeat what memories say."""
    success: bool
    """true; what failed is a problem."""
    url: str
    """Where events are posted to."""
    waiting: int
    """Events that wait for it."""
    webhook_id: str
    """The webhook's id."""


class WebhookReply(_WebhookReply, total=False):
    disabled_at: str
    """Since when it is sent nothing."""
    failing_since: str
    """When it began to fail."""
    last_error: str
    """Why it failed last."""
    oldest_at: str
    """When the oldest event was made that waits for it."""
    secret: str
    """What requests are signed with. It is not shown again."""


class _WebhookTestReply(TypedDict):
    success: bool
    """Whether it answered 2xx."""
    webhook_id: str
    """The webhook's id."""


class WebhookTestReply(_WebhookTestReply, total=False):
    error: str
    """Why it failed."""
    http_status: int
    """What it answered; left out where it did not."""


class WebhooksReply(TypedDict):
    success: bool
    """true; what failed is a problem."""
    webhooks: list[Webhook]
    """Webhooks, the oldest first."""


class _WhyLater(TypedDict):
    action: Literal["keep", "update", "create", "delete", "restore", "archive", "strength", "weight", "scope", "undo"]
    """What was done."""
    at: str
    """When."""


class WhyLater(_WhyLater, total=False):
    approved: bool
    """It was held, and a person let it pass."""
    change_reason: str
    """Why."""
    evidence: list[Evidence]
    """What it rests on: messages and words in them."""
    run_id: str
    """The run."""
    undone_run_id: str
    """Of an undo: the run that it undid."""


class _WhyReply(TypedDict):
    group_id: str
    """The group."""
    memory: Memory
    resting: list[Resting]
    """Active memories that were made of it: they are judged again where it changes."""
    since: str
    """From this instant on."""
    success: bool
    """true; what failed is a problem."""
    usage: UsageCount
    versions: list[WhyVersion]
    """The versions, and what stands behind each."""


class WhyReply(_WhyReply, total=False):
    cut: bool
    """There is more than an answer holds."""


class _WhyVersion(TypedDict):
    action: Literal["keep", "update", "create", "delete", "restore", "archive", "strength", "weight", "scope", "undo"]
    """What was done."""
    change_reason: str
    """Why."""
    decisions: list[Decision]
    """Decisions on the facts that the run would create."""
    evidence: list[Evidence]
    """What it rests on: messages and words in them."""
    later: list[WhyLater]
    """Later changes of the version."""
    memory: Memory


class WhyVersion(_WhyVersion, total=False):
    approved: bool
    """It was held, and a person let it pass."""
    chunk_no: int
    """Which chunk of the run, from 1."""
    run: Run
    sources: list[SourceMemory]
    """Memories that it rests on."""
    undone_run_id: str
    """Of an undo: the run that it undid."""
