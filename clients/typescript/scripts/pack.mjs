// Packs the package, installs the pack in an empty folder, checks a program's types against it, and runs it.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL("..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "reverie-pack-"));
const run = (command, args, cwd = folder) =>
  execFileSync(command, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });

const program = `
import type { MessageLine, ReplyOf } from "reverie-memory";
import { Memory, NotFoundError, Reverie, verifyWebhook } from "reverie-memory";

const reverie = new Reverie({ baseUrl: "http://127.0.0.1:9", token: "t", group: "g1", retries: 0 });
const memory = new Memory(reverie, { flushAtExit: 0 });

export async function typed(): Promise<string> {
  const said: MessageLine = { id: "1", author: "Ann", text: "hi", sent_at: new Date() };
  const lines: MessageLine[] = [said, { id: "1", deleted_at: "2026-01-01T00:00:00Z" }];
  const added: number = (await reverie.remember(lines)).new;
  for await (const m of reverie.memories({ status: "active" })) m.statement.trim();
  const reply: ReplyOf<"get-memory"> = await reverie.request("get-memory", { path: { memory_id: "m" } });
  // @ts-expect-error: there is no such operation
  await reverie.request("get-nothing", {});
  // @ts-expect-error: the path is missing
  await reverie.request("get-memory", {});
  // @ts-expect-error: there is no such kind
  reverie.memories({ kind: "none" });
  // @ts-expect-error: a message has a time
  await reverie.remember({ id: "1", author: "Ann", text: "hi" });
  // @ts-expect-error: replies have no such field
  reply.statment;
  return String(added) + verifyWebhook({}, "", "whsec_AA==").type;
}

memory.remember({ id: "1", author: "Ann", text: "hi", sent_at: new Date() });
const error = await reverie.stats().catch((e: unknown) => e);
if (!(error instanceof Error) || error instanceof NotFoundError || error.name !== "ConnectionError") throw error;
await memory.close(1);
if (memory.counts.dropped !== 1) throw new Error("it was not dropped");
`;

try {
  const packed = run("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", folder], here);
  const [{ filename, files }] = JSON.parse(packed);
  const ours = /^(dist\/[\w-]+\.(d\.ts|js)|README\.md|LICENSE|package\.json)$/;
  const strange = files.map((f) => f.path).filter((p) => !ours.test(p));
  if (strange.length > 0) throw new Error(`the pack holds what it should not: ${strange}`);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "smoke", private: true, type: "module" }));
  run("npm", ["install", "--no-audit", "--no-fund", "--no-package-lock", join(folder, filename)]);
  writeFileSync(join(folder, "smoke.ts"), program);
  const tsc = join(here, "node_modules/typescript/bin/tsc");
  const strict = ["--strict", "--exactOptionalPropertyTypes", "--target", "es2022", "--module", "nodenext"];
  // A program may have the types of the browser only: those of Node are not ours to ask for.
  run(process.execPath, [tsc, ...strict, "--lib", "es2023,dom,dom.iterable,dom.asynciterable", "smoke.ts"]);
  run(process.execPath, ["smoke.js"]);
  console.log(`pack: ${filename}, ${files.length} files, installs, its types hold, and it runs`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
