"""Does one job that comes as JSON on standard input, and says as JSON on standard output what came of it.

    system       mem0, hindsight or graphiti: a file of this folder drives it
    what         open: nothing more than that; remember: the texts of each group, by its own add; night: the messages
                 of all groups, perAdd at a time (0: all at once), with concurrency groups under way
    database     PostgreSQL, or a file of the graph
    model        base URL of an API that speaks OpenAI's protocol
"""

import asyncio
import contextlib
import importlib
import json
import os
import socket
import sys

outside = []
connect = socket.socket.connect


def connect_here(self, address):
    """Refuses connections to anywhere but this machine, and counts them: nothing that is measured may depend on them."""
    if self.family != socket.AF_UNIX and address[0] not in ("127.0.0.1", "::1", "localhost"):
        outside.append(f"{address[0]}:{address[1]}")
        raise ConnectionRefusedError(f"{address[0]}: connections to elsewhere are refused here")
    return connect(self, address)


async def work(job):
    peer = await importlib.import_module("of_" + job["system"]).open(job)
    turn = asyncio.Semaphore(min(job["concurrency"], peer.most))

    async def all_of(group, messages, per_add):
        async with turn:
            for at in range(0, len(messages), per_add):
                await peer.add(group["id"], messages[at : at + per_add])

    if job["what"] == "remember":
        known = [(g, [f"Author 0: note {t}" for t in g["texts"]]) for g in job["groups"]]
        await asyncio.gather(*(all_of(g, texts, len(texts)) for g, texts in known))
    elif job["what"] == "night":
        messages, step = job["messages"], job["perAdd"] or len(job["messages"])
        await asyncio.gather(*(all_of(g, messages, step) for g in job["groups"]))
    return {"held": await peer.held() if job["what"] == "night" else []}


socket.socket.connect = connect_here
with contextlib.redirect_stdout(sys.stderr):
    result = asyncio.run(work(json.load(sys.stdin)))
json.dump({**result, "outside": outside}, sys.stdout)
sys.stdout.flush()
os._exit(0)  # threads and pools have no way to be closed that closes all of them
