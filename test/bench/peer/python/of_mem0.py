"""mem0 (PyPI mem0ai) as its documentation sets it up for pgvector, with its history in memory."""

import asyncio
import os

os.environ["MEM0_TELEMETRY"] = "false"
from mem0 import Memory  # noqa: E402


class Peer:
    most = 8  # connections

    def __init__(self, memory):
        self.memory = memory

    async def add(self, group, messages):
        said = [{"role": "user", "content": m} for m in messages]
        await asyncio.to_thread(self.memory.add, said, user_id=group)

    async def held(self):
        return []  # it is looked for in PostgreSQL


async def open(job):
    api = {"api_key": "none", "openai_base_url": job["model"]}
    memory = Memory.from_config({
        "llm": {"provider": "openai", "config": {**api, "model": "gpt-5-mini"}},
        "embedder": {"provider": "openai", "config": {**api, "model": "text-embedding-3-small", "embedding_dims": 1536}},
        "vector_store": {"provider": "pgvector", "config": {"connection_string": job["database"], "collection_name": job["collection"],
                                                            "embedding_model_dims": 1536, "hnsw": job["hnsw"], "minconn": 1, "maxconn": 8}},
        "history_db_path": ":memory:",
    })
    memory.search("what Ada Lovelace said", filters={"user_id": "nobody"})  # makes the table of names
    return Peer(memory)
