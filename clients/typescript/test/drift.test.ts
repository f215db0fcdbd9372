import { readFile } from "node:fs/promises";
import { expect, inject, test } from "vitest";
import { document, generate, generated } from "../scripts/generate.mjs";
import { Reverie } from "../src/index.js";
import type { OperationId } from "../src/index.js";
import { allRoutes } from "../src/operations.js";

// The method of each operation; null: it is left out on purpose, for the reason that stands there.
const methods: Record<OperationId, keyof Reverie | null> = {
  "add-memory": "addMemory",
  "add-messages": "remember",
  "add-webhook": "addWebhook",
  "approve-run": "approve",
  "clear-session": "clearSession",
  "delete-memory": "deleteMemory",
  "delete-message": "deleteMessage",
  "delete-webhook": "deleteWebhook",
  "edit-memory": "editMemory",
  "edit-message": "editMessage",
  "evolve-group": "evolve",
  "explain-context": "explain",
  "forget-author": "forget",
  "get-author-memories": "whatAbout",
  "get-context": null, // make-context is the same, for queries of any length
  "get-costs": "costs",
  "get-dream": "dreams",
  "get-entity": "entity",
  "get-group": "getGroup",
  "get-group-stats": "stats",
  "get-memory": "memory",
  "get-memory-blame": "blame",
  "get-memory-diff": "diff",
  "get-memory-history": "history",
  "get-memory-why": "why",
  "get-run": "run",
  "get-team-memory": "teamMemory",
  "give-feedback": "feedback",
  "link-entity": "linkEntity",
  "list-changes": "changes",
  "list-entities": "entities",
  "list-groups": "groups",
  "list-memories": "memories",
  "list-messages": "messages",
  "list-nights": "nights",
  "list-runs": "runs",
  "list-team-memories": "teamMemories",
  "list-webhooks": "webhooks",
  "make-context": "context",
  "propose-memory": "propose",
  "put-team-memory": "putTeamMemory",
  "reject-run": "reject",
  "replay-webhook": "replayWebhook",
  "restore-memory": "restoreMemory",
  "search-memories": "search",
  "set-memory-strength": "setStrength",
  "test-webhook": "testWebhook",
  "undo-run": "undo",
  "unlink-entity": "unlinkEntity",
};

type Spec = { paths: Record<string, Record<string, { operationId: string }>> };

/** routesOf are the methods and paths of a document. */
function routesOf(spec: Spec): Record<string, readonly [string, string]> {
  return Object.fromEntries(Object.entries(spec.paths).flatMap(([path, ops]) =>
    Object.entries(ops).map(([method, op]) => [op.operationId, [method.toUpperCase(), path] as const])));
}

test("the generated file is that of the document", async () => {
  const spec: unknown = JSON.parse(await readFile(document, "utf8"));
  const fresh = await generate(spec);
  expect(await readFile(generated, "utf8") === fresh, "they differ: run npm run generate").toBe(true);
});

test("every operation has a method", async () => {
  const routes = routesOf(JSON.parse(await readFile(document, "utf8")) as Spec);
  expect(Object.keys(routes).filter((id) => !(id in methods)), "operations without a row above").toEqual([]);
  expect(Object.keys(methods).filter((id) => !(id in routes)), "rows above without an operation").toEqual([]);
  for (const method of Object.values(methods)) {
    if (method !== null) expect(Reverie.prototype[method], method).toBeTypeOf("function");
  }
  const ours = Object.entries(allRoutes).map(([id, [method, path]]) => [id, [method, path]]);
  expect(Object.fromEntries(ours)).toMatchObject(routes);
});

test("the server that runs has the routes of the document", async () => {
  const answer = await fetch(`${inject("server").url}/openapi.json`);
  const served = routesOf(await answer.json() as Spec);
  expect(served).toEqual(routesOf(JSON.parse(await readFile(document, "utf8")) as Spec));
});
