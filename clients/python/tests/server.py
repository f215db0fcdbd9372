"""The binary, on a free port of loopback, with a PostgreSQL of its own. It needs the client's dependencies alone."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

ROOT = Path(__file__).resolve().parents[3]
START = 120  # seconds that a server may take until it is ready


class Server:
    """`reverie serve`, which a test may stop and start again at the same address."""

    def __init__(self, binary: str, data: Path) -> None:
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = int(s.getsockname()[1])
        self.url = f"http://127.0.0.1:{self.port}"
        self._binary, self._data = binary, data
        self._process: subprocess.Popen[bytes] | None = None
        self.token = ""

    def environment(self) -> dict[str, str]:
        mine = {k: v for k, v in os.environ.items() if not k.startswith("REVERIE_")}
        return {
            **mine,
            "HOME": str(self._data),
            "REVERIE_DATA_DIR": str(self._data / "db"),
            "REVERIE_LLM_PROVIDER": "offline",
            "REVERIE_WEBHOOKS_ALLOW_PRIVATE": "true",
        }

    def run(self, *arguments: str) -> str:
        return subprocess.run(
            [self._binary, *arguments],
            env=self.environment(),
            cwd=self._data,
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()

    def start(self) -> None:
        with (self._data / "serve.log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._binary, "serve", "--listen", f"127.0.0.1:{self.port}"],
                env=self.environment(), cwd=self._data, stdout=log, stderr=log,
            )  # fmt: skip

    def ready(self) -> None:
        assert self._process is not None
        end = time.monotonic() + START
        while time.monotonic() < end:
            try:
                if httpx.get(f"{self.url}/readyz").is_success:
                    return
            except httpx.TransportError:
                pass
            assert self._process.poll() is None, (self._data / "serve.log").read_text()
            time.sleep(0.1)
        raise AssertionError("the server is not ready: " + (self._data / "serve.log").read_text())

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(60)
            self._process = None

    def document(self) -> dict[str, Any]:
        document: dict[str, Any] = httpx.get(f"{self.url}/openapi.json").json()
        return document


@contextmanager
def started() -> Iterator[Server]:
    """A server that asks for a token."""
    binary = os.environ.get("REVERIE_BINARY") or str(ROOT / "bin" / "reverie")
    if not Path(binary).exists():
        raise SystemExit(f"there is no {binary}: run make build, or name the binary in REVERIE_BINARY")
    # The database server of root runs as somebody else, and must be able to enter.
    data = Path(tempfile.mkdtemp(prefix="reverie-py-"))
    data.chmod(0o755)
    server = Server(binary, data)
    try:
        server.start()
        server.ready()
        server.token = server.run("token", "create", "--all-groups", "--scope", "admin", "--name", "tests")
        server.stop()
        server.start()  # from the first token on, every request needs one
        server.ready()
        yield server
    finally:
        server.stop()
        shutil.rmtree(data, ignore_errors=True)
