// The real binary with a PostgreSQL of its own, for the tests of the client and of the examples.
import type { ChildProcess } from "node:child_process";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const binary = process.env["REVERIE_BIN"] ?? fileURLToPath(new URL("../../../bin/reverie", import.meta.url));

/** freePort is a port of loopback that nobody listens on. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("no port is free");
  return address.port;
}

/** Server is `reverie serve` on a port of loopback. */
export class Server {
  #process: ChildProcess | undefined;
  readonly url: string;

  private constructor(readonly dir: string, readonly port: number, readonly token: string) {
    this.url = `http://127.0.0.1:${port}`;
  }

  /** start makes a database, a token for everything, and starts the server. */
  static async start(): Promise<Server> {
    const dir = await mkdtemp(join(tmpdir(), "reverie-ts-"));
    await chmod(dir, 0o755); // the database of root runs as somebody else
    const token = await Server.#reverie(dir, "token", "create", "--all-groups", "--scope", "admin", "--name", "tests");
    const server = new Server(dir, await freePort(), token);
    await server.up();
    return server;
  }

  static #env(dir: string): NodeJS.ProcessEnv {
    const env = {
      ...process.env, REVERIE_DATA_DIR: join(dir, "data"), REVERIE_LLM_PROVIDER: "offline",
      REVERIE_WEBHOOKS_ALLOW_PRIVATE: "true",
    };
    return Object.fromEntries(Object.entries(env).filter(([name]) => name !== "REVERIE_DATABASE_URL"));
  }

  static async #reverie(dir: string, ...args: string[]): Promise<string> {
    return (await run(binary, args, { cwd: dir, env: Server.#env(dir) })).stdout.trim();
  }

  /** reverie runs a command with the server's database. */
  reverie(...args: string[]): Promise<string> {
    return Server.#reverie(this.dir, ...args);
  }

  /** up starts the process and waits until it is ready. */
  async up(): Promise<void> {
    const child = spawn(binary, ["serve", "--listen", `127.0.0.1:${this.port}`], {
      cwd: this.dir, env: Server.#env(this.dir), stdio: ["ignore", "pipe", "pipe"],
    });
    this.#process = child;
    let said = "";
    await new Promise<void>((resolve, reject) => {
      child.once("error", reject);
      child.once("exit", (code) => reject(new Error(`reverie serve ended with ${code}: ${said}`)));
      for (const stream of [child.stdout, child.stderr]) {
        stream.on("data", (data: Buffer) => {
          said = (said + data.toString()).slice(-10_000);
          if (said.includes(`serving ${this.url}`)) resolve();
        });
      }
    });
  }

  /** down ends the process, and waits until it is gone. */
  async down(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    await once(child, "exit");
  }

  /** stop ends the process and removes its database. */
  async stop(): Promise<void> {
    await this.down();
    await rm(this.dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 });
  }
}
