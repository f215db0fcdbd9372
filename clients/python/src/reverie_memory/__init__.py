"""Client of Reverie, the long-term memory of chat groups.

    async with AsyncReverie(url, token, group="g1") as reverie:
        await reverie.remember({"id": "1", "author": "Ann", "text": "We meet on Fridays.", "sent_at": now})
        context = await reverie.context("When do we meet?")
        print(context["text"])

`Reverie` is the same without `await`. `Middleware` gives an OpenAI client a memory.
"""

from . import models
from ._async import AsyncReverie
from ._core import Message, Reaction, Retry
from ._privacy import wish_of
from ._sync import Reverie
from .errors import (
    APIError,
    BadAnswer,
    BadRequest,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    ReverieError,
    ServerError,
    TimedOut,
    TooManyRequests,
    Unauthorized,
    Unavailable,
    Unreachable,
    WebhookError,
)
from .middleware import Middleware, Turn
from .webhooks import WebhookEvent, verify_webhook

__all__ = [
    "APIError",
    "AsyncReverie",
    "BadAnswer",
    "BadRequest",
    "Conflict",
    "Forbidden",
    "Invalid",
    "Message",
    "Middleware",
    "NotFound",
    "Reaction",
    "Retry",
    "Reverie",
    "ReverieError",
    "ServerError",
    "TimedOut",
    "TooManyRequests",
    "Turn",
    "Unauthorized",
    "Unavailable",
    "Unreachable",
    "WebhookError",
    "WebhookEvent",
    "models",
    "verify_webhook",
    "wish_of",
]
