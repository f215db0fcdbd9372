"""A real server for the tests: the binary, on a free port of loopback, with a PostgreSQL of its own."""

from __future__ import annotations

import http.server
import importlib.util
import json
import os
import sys
import threading
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from types import ModuleType
from typing import Any

import pytest
from reverie_memory import AsyncReverie, Reverie
from server import ROOT, Server, started

os.environ.setdefault("DRIVER", "~none")  # NoneBot's: its tests need no network


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with started() as server:
        yield server


@pytest.fixture(scope="session")
def operations(server: Server) -> set[str]:
    """What the server can do. It may be older than the client."""
    paths = server.document()["paths"].values()
    return {operation["operationId"] for methods in paths for operation in methods.values()}


@pytest.fixture
def group() -> str:
    """A group of the test's own."""
    return f"g/{uuid.uuid4()}"


@pytest.fixture
def reverie(server: Server, group: str) -> Iterator[Reverie]:
    with Reverie(server.url, server.token, group=group) as client:
        yield client


@pytest.fixture
async def areverie(server: Server, group: str) -> AsyncIterator[AsyncReverie]:
    async with AsyncReverie(server.url, server.token, group=group) as client:
        yield client


@pytest.fixture(scope="session")
def golden() -> dict[str, Any]:
    """The OpenAPI document of this repository."""
    text = (ROOT / "internal/api/rest/testdata/openapi.golden.json").read_text("utf-8")
    document: dict[str, Any] = json.loads(text)
    return document


class Model:
    """A chat completion server, behind whatever HTTP client OpenAI's SDK uses."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.fail = False
        self.answers = 1  # of a stream
        self.meanwhile: Callable[[], object] = lambda: None  # what happens while it thinks
        model = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                model.asked.append(asked)
                model.meanwhile()
                if model.fail:
                    self.send_error(400)
                    return
                if asked.get("stream"):
                    pieces: list[dict[str, Any]] = [{"delta": {"role": "assistant", "content": ""}}]
                    pieces += [{"delta": {"content": p}} for p in ("At ", "eight", ".")]
                    pieces += [{"delta": {}, "finish_reason": "stop"}]
                    chunks = [
                        {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m",
                         "choices": [{"index": i, **p}]} for p in pieces for i in range(model.answers)
                    ]  # fmt: skip
                    body = "".join(f"data: {json.dumps(c)}\n\n" for c in chunks) + "data: [DONE]\n\n"
                    kind = "text/event-stream"
                else:
                    choice = {
                        "index": 0,
                        "finish_reason": "stop",
                        "message": {"role": "assistant", "content": "At eight."},
                    }
                    body = json.dumps(
                        {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
                    )
                    kind = "application/json"
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body.encode())

            def log_message(self, *_: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def model() -> Iterator[Model]:
    m = Model()
    yield m
    m.close()


class Example:
    """An example of the repository, loaded as it is, against the server and the made-up model."""

    def __init__(self, path: str) -> None:
        file = ROOT / "examples" / path
        spec = importlib.util.spec_from_file_location(f"example_{file.parent.name.replace('.', '_')}", file)
        assert spec is not None
        assert spec.loader is not None
        self.module: ModuleType = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = self.module
        spec.loader.exec_module(self.module)


@pytest.fixture
def surroundings(server: Server, model: Model, monkeypatch: pytest.MonkeyPatch) -> Model:
    """The environment that the examples read."""
    for name, value in {
        "REVERIE_URL": server.url,
        "REVERIE_TOKEN": server.token,
        "OPENAI_BASE_URL": model.url,
        "OPENAI_API_KEY": "k",
        "MODEL": "m",
    }.items():
        monkeypatch.setenv(name, value)
    return model
