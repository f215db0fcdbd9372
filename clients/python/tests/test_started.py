"""Examples as they are started: a process, a platform of loopback, the binary."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from conftest import Model
from reverie_memory import Reverie, ReverieError
from server import ROOT, Server

web = pytest.importorskip("aiohttp.web", reason="a framework brings it")

USER: dict[str, Any] = {"id": "501", "username": "ann", "discriminator": "0", "global_name": "Annabel", "avatar": None}
BOT = {**USER, "id": "900", "username": "rev", "global_name": "Rev", "bot": True}


@asynccontextmanager
async def listening(*routes: Any) -> AsyncIterator[str]:
    app = web.Application()
    app.add_routes(routes)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    yield f"127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


def stored(server: Server, group: str) -> list[str]:
    with Reverie(server.url, server.token, group=group) as reverie:
        try:
            return [m["text"] for m in reverie.list_messages()["messages"]]
        except ReverieError:
            return []  # nothing has been said so far


async def lived(
    folder: str, server: Server, group: str, said: asyncio.Queue[str], say: Any, *program: str, **env: str
) -> None:
    """What a bot does from its start to its end."""
    bot = await asyncio.create_subprocess_exec(
        sys.executable, *(program or ("bot.py",)), cwd=ROOT / "examples" / folder, env={**os.environ, **env}
    )
    try:
        await say("I moved to Lisbon with Teodoro.", False)
        await say("Where do I live?", True)
        assert await asyncio.wait_for(said.get(), 60) == "At eight."
        await say("forget me", False)  # to others
        await say("forget me", True)
        assert (await asyncio.wait_for(said.get(), 60)).startswith("I have forgotten you: 4 messages, with my answers")
        assert await asyncio.to_thread(stored, server, group) == []
        await say("I am back.", True)
        assert await asyncio.wait_for(said.get(), 60) == "At eight."
    finally:
        if bot.returncode is None:
            bot.send_signal(signal.SIGTERM)
    assert await asyncio.wait_for(bot.wait(), 60) == 0
    assert len(await asyncio.to_thread(stored, server, group)) == 2  # told at the end, if not before


async def test_aiogram_as_it_is_started(server: Server, surroundings: Model) -> None:
    pytest.importorskip("aiogram")
    updates, said = asyncio.Queue[dict[str, Any]](), asyncio.Queue[str]()
    chat, n = {"id": -1007654321, "type": "supergroup", "title": "Club"}, iter(range(1, 99))

    async def call(request: Any) -> Any:
        form = await request.post()
        result: Any = True
        match request.match_info["method"]:
            case "getMe":
                result = {"id": 1, "is_bot": True, "first_name": "Rev", "username": "rev_bot"}
            case "getUpdates":
                result = [await updates.get()]
            case "sendMessage":
                said.put_nowait(form["text"])
                result = {"message_id": next(n), "date": 1_767_225_600, "chat": chat, "text": form["text"]}
        return web.json_response({"ok": True, "result": result})

    async def say(text: str, to_bot: bool) -> None:
        ann = {"id": 501, "is_bot": False, "first_name": "Annabel"}
        message = {"message_id": next(n), "date": 1_767_225_600, "chat": chat, "from": ann}
        updates.put_nowait({"update_id": next(n), "message": {**message, "text": "@rev_bot " * to_bot + text}})

    async with listening(web.post("/bot{token}/{method}", call)) as address:
        env = {"TELEGRAM_TOKEN": "1:t", "TELEGRAM_API": f"http://{address}"}
        await lived("aiogram", server, "telegram-7654321", said, say, **env)


async def test_discord_as_it_is_started(server: Server, surroundings: Model) -> None:
    pytest.importorskip("discord")
    said, ready, n = asyncio.Queue[str](), asyncio.Event(), iter(range(1, 99))
    gateway = web.WebSocketResponse()
    place = {"id": "1", "channel_id": "7654321", "guild_id": "9", "type": 0, "timestamp": "2026-01-01T00:00:00+00:00"}
    rest: dict[str, Any] = {
        "attachments": [],
        "embeds": [],
        "mention_roles": [],
        "edited_timestamp": None,
        "pinned": False,
    }

    def message(author: Any, text: str, **more: Any) -> dict[str, Any]:
        fixed = {"mention_everyone": False, "tts": False, "mentions": []}
        return {**place, **rest, **fixed, "id": str(next(n)), "author": author, "content": text, **more}

    async def dispatch(event: str, data: Any) -> None:
        await gateway.send_json({"op": 0, "s": next(n), "t": event, "d": data})

    async def meet(request: Any) -> Any:
        await gateway.prepare(request)
        await gateway.send_json({"op": 10, "d": {"heartbeat_interval": 40_000}, "s": None, "t": None})
        async for packet in gateway:
            if packet.json()["op"] == 2:
                await dispatch(
                    "READY",
                    {
                        "v": 10,
                        "user": BOT,
                        "guilds": [],
                        "session_id": "s",
                        "private_channels": [],
                        "resume_gateway_url": "ws://x",
                        "application": {"id": "900", "flags": 0},
                    },
                )
                ready.set()
        return gateway

    async def rest_api(request: Any) -> Any:
        public = {"bot_public": True, "bot_require_code_grant": False, "verify_key": "", "flags": 0, "owner": USER}
        answer = {**BOT, **public, "name": "Rev", "icon": None, "description": "", "summary": "", "team": None}
        if request.method == "POST":
            fields = await request.post() if "form" in request.content_type else {"payload_json": await request.text()}
            text = json.loads(fields["payload_json"])["content"]
            said.put_nowait(text)
            answer = message(BOT, text)
        return web.Response(body=json.dumps(answer).encode(), content_type="application/json")  # and no charset

    async def say(text: str, to_bot: bool) -> None:
        await asyncio.wait_for(ready.wait(), 60)
        await dispatch("MESSAGE_CREATE", message(USER, "<@900> " * to_bot + text, mentions=[BOT] * to_bot))

    async with listening(web.get("/gateway/", meet), web.route("*", "/api/{path:.*}", rest_api)) as address:
        elsewhere = (
            "import runpy, yarl, discord; from discord.gateway import DiscordWebSocket as gateway\n"
            f"discord.http.Route.BASE = 'http://{address}/api'\n"
            f"gateway.DEFAULT_GATEWAY = yarl.URL('ws://{address}/gateway/')\n"
            "runpy.run_path('bot.py', run_name='__main__')"
        )
        await lived("discord.py", server, "discord-7654321", said, say, "-c", elsewhere, DISCORD_TOKEN="t")
