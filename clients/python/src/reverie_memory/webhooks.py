"""Webhooks that Reverie sends (Standard Webhooks)."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import time
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, cast

from .errors import WebhookError


class WebhookEvent(TypedDict):
    """An event. It may come again, with the same id: treat it once."""

    id: str
    type: str
    """Such as memory.created or run.failed."""
    timestamp: str
    data: dict[str, Any]


def verify_webhook(
    headers: Mapping[str, str],
    body: bytes | str,
    secret: str | Sequence[str],
    *,
    tolerance: float = 300.0,
    now: float | None = None,
) -> WebhookEvent:
    """Returns the event of a webhook, or raises WebhookError if its signature or time is not right.

    `body` is the body as it came, byte for byte. While a secret is being replaced, give the old and the new one.
    """
    got = {k.lower(): v for k, v in headers.items()}
    try:
        name, sent, signatures = (got[f"webhook-{h}"] for h in ("id", "timestamp", "signature"))
        age = (time.time() if now is None else now) - int(sent)
    except KeyError as e:
        raise WebhookError(f"the header {e.args[0]} is missing") from None
    except ValueError:
        raise WebhookError("webhook-timestamp is no number") from None
    if abs(age) > tolerance:
        raise WebhookError(f"it was sent {age:.0f} seconds ago: too old, or a clock is wrong")
    raw = body.encode() if isinstance(body, str) else bytes(body)
    signed, given = f"{name}.{sent}.".encode() + raw, _signatures(signatures)
    keys = [_key(one) for one in ([secret] if isinstance(secret, str) else secret)]
    wants = [hmac.new(key, signed, hashlib.sha256).digest() for key in keys]
    if not any(hmac.compare_digest(want, one) for want in wants for one in given):
        raise WebhookError("the signature is not that of the body")
    try:
        event = json.loads(raw)
    except ValueError:
        raise WebhookError("the body is no JSON") from None
    if not isinstance(event, dict):
        raise WebhookError("the body is no event")
    return cast(WebhookEvent, event | {"id": name})


def _key(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except (ValueError, binascii.Error):
        raise WebhookError("the secret is not one of a webhook: it begins with whsec_") from None
    if not key:  # anybody could sign with it
        raise WebhookError("the secret is empty: give the one that begins with whsec_")
    return key


def _signatures(header: str) -> list[bytes]:
    """Those of version 1; a sender that changes its secret sends several."""
    found = []
    for one in header.split():
        version, _, value = one.partition(",")
        if version == "v1":
            try:
                found.append(base64.b64decode(value, validate=True))
            except (ValueError, binascii.Error):
                continue
    return found
