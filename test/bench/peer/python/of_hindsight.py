"""Hindsight (PyPI hindsight-api-slim): its engine in this process, without its local models and without a reranker. What
it does in the background, making observations of what it retained, is done at once."""

import os


class Peer:
    most = 8

    def __init__(self, engine, context):
        self.engine, self.context = engine, context

    async def add(self, group, messages):
        content = {"content": "\n".join(messages), "context": "a chat group"}
        await self.engine.retain_batch_async(bank_id=group, contents=[content], request_context=self.context)

    async def held(self):
        return []  # it is looked for in PostgreSQL


async def open(job):
    prefix = "HINDSIGHT_API_"
    for part in ("LLM", "EMBEDDINGS_OPENAI"):
        os.environ.update({f"{prefix}{part}_API_KEY": "none", f"{prefix}{part}_BASE_URL": job["model"]})
    os.environ.update({
        prefix + "DATABASE_URL": job["database"], prefix + "LLM_PROVIDER": "openai", prefix + "LLM_MODEL": "gpt-5-mini",
        prefix + "EMBEDDINGS_PROVIDER": "openai", prefix + "EMBEDDINGS_OPENAI_MODEL": "text-embedding-3-small",
        prefix + "RERANKER_PROVIDER": "rrf", prefix + "SKIP_LLM_VERIFICATION": "true",
    })
    from hindsight_api.engine.memory_engine import MemoryEngine
    from hindsight_api.engine.task_backend import SyncTaskBackend
    from hindsight_api.models import RequestContext

    engine = MemoryEngine(task_backend=SyncTaskBackend())
    await engine.initialize()
    return Peer(engine, RequestContext())
