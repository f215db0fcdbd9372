"""What can go wrong, one class a kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class ReverieError(Exception):
    """Any error of this package."""


class Unreachable(ReverieError):
    """No answer came from the server, also after the retries."""


class TimedOut(Unreachable):
    """The server did not answer in time."""


class BadAnswer(ReverieError):
    """The answer is not one of Reverie: something else may stand at the address."""


class WebhookError(ReverieError):
    """A webhook's signature or time is not right: do not trust its body."""


class APIError(ReverieError):
    """The server refused a request, or failed at it. It says why in a problem (RFC 9457)."""

    def __init__(self, problem: Mapping[str, Any], *, retry_after: float | None = None) -> None:
        self.problem = dict(problem)
        """The whole answer: some problems have fields of their own, such as `head_id` or `current`."""
        self.status: int = problem["status"]
        self.title: str = problem.get("title", "")
        self.detail: str = problem.get("detail", "")
        errors = problem.get("errors")
        self.errors: list[dict[str, Any]] = (
            [e for e in errors if isinstance(e, dict)] if isinstance(errors, list) else []
        )
        """What is wrong with the request: `location` and `message` of each."""
        self.request_id: str = problem.get("instance", "")
        """Finds the request in the server's log."""
        self.retry_after = retry_after
        """After how many seconds the server would be asked again."""
        text = f"{self.status} {self.title}: {self.detail}"
        if self.errors:
            more = (f"{e.get('location', 'request')}: {e.get('message', '')}" for e in self.errors)
            text += f" ({'; '.join(more)})"
        if self.request_id:
            text += f" (request {self.request_id})"
        super().__init__(text)


class BadRequest(APIError):
    """400, 413, 415 and others of 4xx: the request is not what it should be."""


class Unauthorized(APIError):
    """401: the token is missing, wrong, expired or revoked."""


class Forbidden(APIError):
    """403: the token's scope does not reach so far."""


class NotFound(APIError):
    """404: there is no such thing, or none that the token may see."""


class Conflict(APIError):
    """409, 412, 428: it has changed meanwhile, or another run has the group."""


class Invalid(APIError):
    """422: a rule is broken; `errors` names where."""


class TooManyRequests(APIError):
    """429: the token asks too often."""


class ServerError(APIError):
    """500 and others of 5xx: a fault of the server."""


class Unavailable(ServerError):
    """502, 503, 504: the server, its database or its model is not there for the moment."""


_CLASSES: dict[int, type[APIError]] = {
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    412: Conflict,
    422: Invalid,
    428: Conflict,
    429: TooManyRequests,
    502: Unavailable,
    503: Unavailable,
    504: Unavailable,
}


def error_of(problem: Mapping[str, Any], retry_after: float | None) -> APIError:
    """The error for a problem."""
    status: int = problem["status"]
    kind = _CLASSES.get(status, ServerError if status >= 500 else BadRequest)
    return kind(problem, retry_after=retry_after)
