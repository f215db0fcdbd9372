"""Webhooks are trusted only if they are signed with the secret, and fresh."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json

import pytest
from reverie_memory import WebhookError, verify_webhook

KEY = b"0123456789abcdef01234567"
SECRET = "whsec_" + base64.b64encode(KEY).decode()
BODY = json.dumps({"type": "memory.created", "timestamp": "2026-01-15T12:00:00Z", "data": {"group_id": "g1"}})
NOW = 1_768_478_400


def headers(body: str = BODY, key: bytes = KEY, sent: int = NOW) -> dict[str, str]:
    mac = hmac.new(key, f"msg_1.{sent}.{body}".encode(), hashlib.sha256).digest()
    return {
        "Webhook-Id": "msg_1",
        "Webhook-Timestamp": str(sent),
        "Webhook-Signature": "v1a,zzzz v1,!!! v1," + base64.b64encode(mac).decode(),
    }


def test_a_webhook() -> None:
    event = verify_webhook(headers(), BODY.encode(), SECRET, now=NOW + 10)
    assert (event["id"], event["type"], event["data"]) == ("msg_1", "memory.created", {"group_id": "g1"})
    assert verify_webhook(headers(), BODY, SECRET.removeprefix("whsec_"), now=NOW) == event


def test_a_secret_that_is_being_replaced() -> None:
    new = "whsec_" + base64.b64encode(b"another").decode()
    assert verify_webhook(headers(key=b"another"), BODY, [SECRET, new], now=NOW)["id"] == "msg_1"
    assert verify_webhook(headers(), BODY, [SECRET, new], now=NOW)["id"] == "msg_1"
    with pytest.raises(WebhookError):
        verify_webhook(headers(key=b"a third one"), BODY, [SECRET, new], now=NOW)


def test_the_vector_of_the_standard() -> None:
    """The example of the libraries of Standard Webhooks."""
    event = {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }
    body, secret = '{"test": 2432232314}', "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    assert verify_webhook(event, body, secret, now=1614265330).items() >= {"test": 2432232314}.items()


@pytest.mark.parametrize(
    ("changed", "body", "now", "why"),
    [
        ({}, BODY.replace("g1", "g2"), NOW, "signature"),
        ({"Webhook-Id": "msg_2"}, BODY, NOW, "signature"),
        ({"Webhook-Signature": ""}, BODY, NOW, "signature"),
        ({"Webhook-Timestamp": str(NOW + 1)}, BODY, NOW, "signature"),
        ({"Webhook-Timestamp": "soon"}, BODY, NOW, "number"),
        ({}, BODY, NOW + 301, "too old"),
        ({}, BODY, NOW - 301, "clock"),
    ],
)
def test_what_is_not_trusted(changed: dict[str, str], body: str, now: int, why: str) -> None:
    with pytest.raises(WebhookError, match=why):
        verify_webhook({**headers(), **changed}, body, SECRET, now=now)


def test_what_is_missing_or_wrong() -> None:
    with pytest.raises(WebhookError, match="webhook-id is missing"):
        verify_webhook({}, BODY, SECRET)
    with pytest.raises(WebhookError, match="whsec_"):
        verify_webhook(headers(), BODY, "not base64!", now=NOW)
    for empty in ("", "whsec_"):
        with pytest.raises(WebhookError, match="empty"):
            verify_webhook(headers(key=b""), BODY, empty, now=NOW)
    with pytest.raises(WebhookError, match="no JSON"):
        verify_webhook(headers("{"), "{", SECRET, now=NOW)
    with pytest.raises(WebhookError, match="signature"):
        verify_webhook(headers(key=b"another"), BODY, SECRET, now=NOW)
