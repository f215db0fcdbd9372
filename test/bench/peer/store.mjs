import { Memory } from "mem0ai/oss";
import { everyOne } from "./turns.mjs";

// open makes as many Memory objects as job.connections says, one after the other, since
// each has one connection of its own and the first one makes the tables.
//
//	database, collection   where memories are kept
//	hnsw                   whether the collection is made with its index
//	model                  base URL of an API that speaks OpenAI's protocol
export async function open(job) {
  const memories = [];
  for (let i = 0; i < (job.connections ?? 1); i++) {
    const api = { apiKey: "none", baseURL: job.model };
    const memory = new Memory({
      llm: { provider: "openai", config: { ...api, model: "gpt-5-mini" } },
      embedder: { provider: "openai", config: { ...api, model: "text-embedding-3-small", embeddingDims: 1536 } },
      vectorStore: {
        provider: "pgvector",
        config: { connectionString: job.database, collectionName: job.collection, dimension: 1536, embeddingModelDims: 1536, hnsw: job.hnsw },
      },
      historyStore: { provider: "memory", config: {} },
    });
    await memory.getAll({ filters: { user_id: "nobody" } }); // waits until it is ready
    memories.push(memory);
  }
  return memories;
}

// remember stores texts as they are: job.groups is a list of {id, texts}. The query names
// something, so that the table of names is there, too, before many look for it at once.
export async function remember(memories, job) {
  await memories[0].search("what Ada Lovelace said", { filters: { user_id: "nobody" } });
  await everyOne(job.groups, job.concurrency, async (group, i) => {
    for (const content of group.texts) {
      await memories[i % memories.length].add([{ role: "user", content }], { userId: group.id, infer: false });
    }
  });
  return {};
}
