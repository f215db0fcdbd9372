"""Graphiti (PyPI graphiti-core) with Kuzu, the one of its graph databases that needs no server."""

import os
from datetime import datetime, timezone

os.environ["GRAPHITI_TELEMETRY_ENABLED"] = "false"
from graphiti_core import Graphiti  # noqa: E402
from graphiti_core.cross_encoder.openai_reranker_client import OpenAIRerankerClient  # noqa: E402
from graphiti_core.driver.driver import GraphProvider  # noqa: E402
from graphiti_core.driver.kuzu_driver import KuzuDriver  # noqa: E402
from graphiti_core.embedder.openai import OpenAIEmbedder, OpenAIEmbedderConfig  # noqa: E402
from graphiti_core.graph_queries import get_fulltext_indices  # noqa: E402
from graphiti_core.llm_client.config import LLMConfig  # noqa: E402
from graphiti_core.llm_client.openai_generic_client import OpenAIGenericClient  # noqa: E402
from graphiti_core.nodes import EpisodeType  # noqa: E402


class Peer:
    most = 1  # writer

    def __init__(self, graph):
        self.graph = graph

    async def add(self, group, messages):
        await self.graph.add_episode(name="night", episode_body="\n".join(messages), source_description="a chat group",
                                     reference_time=datetime.now(timezone.utc), source=EpisodeType.message, group_id=group)

    async def held(self):
        rows, _, _ = await self.graph.driver.execute_query("MATCH (e:RelatesToNode_) WHERE e.expired_at IS NULL RETURN e.group_id AS id, e.fact AS fact")
        return [[r["id"], r["fact"]] for r in rows]


async def open(job):
    model = LLMConfig(api_key="none", model="gpt-5-mini", small_model="gpt-5-mini", base_url=job["model"])
    vectors = OpenAIEmbedderConfig(api_key="none", base_url=job["model"], embedding_model="text-embedding-3-small", embedding_dim=1536)
    new = not os.path.exists(job["database"])
    driver = KuzuDriver(db=job["database"])
    driver._database = ""  # 0.31.2 asks for it, and this driver has none
    if new:  # nor does it make these
        for statement in get_fulltext_indices(GraphProvider.KUZU):
            await driver.execute_query(statement)
    return Peer(Graphiti(graph_driver=driver, llm_client=OpenAIGenericClient(model), embedder=OpenAIEmbedder(vectors),
                         cross_encoder=OpenAIRerankerClient(model)))
