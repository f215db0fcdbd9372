// A server that answers as a test says.
import { once } from "node:events";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { createServer } from "node:http";

/** A request as it came in. */
export interface Seen {
  method: string;
  url: string;
  headers: IncomingMessage["headers"];
  body: string;
}

export type Answer = (seen: Seen, response: ServerResponse) => void | Promise<void>;

/** json answers with a document. */
export function json(response: ServerResponse, value: unknown, status = 200, headers: Record<string, string> = {}): void {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(value));
}

/** problem answers with an error as Reverie does. */
export function problem(
  response: ServerResponse, status: number, detail: string, headers: Record<string, string> = {}, more: object = {},
): void {
  const body = { type: "about:blank", title: "", status, detail, ...more };
  response.writeHead(status, { "content-type": "application/problem+json", ...headers }).end(JSON.stringify(body));
}

/** Fake listens on loopback and keeps what it was asked. */
export class Fake {
  readonly seen: Seen[] = [];
  readonly #server: Server;
  #answer: Answer;

  private constructor(answer: Answer) {
    this.#answer = answer;
    this.#server = createServer(async (request, response) => {
      let body = "";
      for await (const chunk of request.setEncoding("utf8")) body += chunk;
      const seen = { method: request.method ?? "", url: request.url ?? "", headers: request.headers, body };
      this.seen.push(seen);
      await this.#answer(seen, response);
    });
  }

  static async start(answer: Answer): Promise<Fake> {
    const fake = new Fake(answer);
    fake.#server.listen(0, "127.0.0.1");
    await once(fake.#server, "listening");
    return fake;
  }

  get url(): string {
    const address = this.#server.address();
    return typeof address === "object" && address ? `http://127.0.0.1:${address.port}` : "";
  }

  answer(answer: Answer): void {
    this.#answer = answer;
    this.seen.length = 0;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}
