"""What a newcomer does with the wheel: no tool of the tests is there."""

from __future__ import annotations

import asyncio
import importlib.util
from pathlib import Path

import reverie_memory
from reverie_memory import AsyncReverie, Message, Middleware, Reverie
from server import started


async def converse(url: str, token: str) -> str:
    async with AsyncReverie(url, token, group="smoke") as reverie:
        context = await reverie.context("When do we meet?")
        return context["text"]


def main() -> None:
    package = Path(reverie_memory.__file__).parent
    assert "site-packages" in package.parts, f"{package} is not what the wheel has brought"
    assert (package / "py.typed").exists()
    assert importlib.util.find_spec("openai") is None, "the clean environment is not clean"
    said: list[Message] = [{"id": "1", "author": "Ann", "text": "We meet every Friday at eight."}]
    with started() as server:
        with Reverie(server.url, server.token, group="smoke") as reverie:
            assert reverie.remember(said)["new"] == 1
        assert "Friday" in asyncio.run(converse(server.url, server.token))
        memory = Middleware(Reverie(server.url, server.token, group="smoke"), context_timeout=30)
        assert "Friday" in memory.turn("When do we meet?").system
        memory.close()
    print("smoke: the wheel works")


if __name__ == "__main__":
    main()
