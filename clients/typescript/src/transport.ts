import { ConnectionError, problemError, ProblemError, ReverieError, TimeoutError } from "./errors.js";

/** What can be said of a single call. */
export interface CallOptions {
  /** Cancels the call, also while it waits to try again. */
  signal?: AbortSignal | undefined;
  /** Milliseconds that one attempt may take. */
  timeout?: number | undefined;
  /** How often to try again. */
  retries?: number | undefined;
}

/** Waits, and ends early when the signal aborts. */
export type Sleep = (milliseconds: number, signal?: AbortSignal) => Promise<void>;

export interface TransportOptions {
  /** Where the server is: http://127.0.0.1:8470 */
  baseUrl: string;
  /** A token of `reverie token create`. */
  token?: string | undefined;
  /** Milliseconds that one attempt may take. 30 seconds; evolve and messages have 90. */
  timeout?: number | undefined;
  /** How often to try again what may be repeated. 6: enough for a server that restarts. */
  retries?: number | undefined;
  /** Milliseconds between two attempts at most. If the server asks for more, the call fails. 10 seconds. */
  maxRetryDelay?: number | undefined;
  /** Instead of the global fetch. */
  fetch?: typeof fetch | undefined;
  /** Instead of a timer, for tests. */
  sleep?: Sleep | undefined;
}

export type Query = Record<string, string | number | boolean | null | undefined>;

/** One request. */
export interface Call {
  method: string;
  path: string; // ready to be sent, with a slash at its beginning
  query?: Query | undefined;
  headers?: Record<string, string | undefined> | undefined;
  body?: string | undefined;
  contentType?: string | undefined;
  /** It may be repeated, even if it was carried out. */
  idempotent: boolean;
  timeout?: number | undefined; // where the caller says nothing
}

export interface Answer {
  status: number;
  headers: Headers;
  data: unknown;
}

const firstDelay = 250; // milliseconds; doubled with each attempt

/** Transport sends requests, and sends them again where that does no harm. */
export class Transport {
  readonly sleep: Sleep;
  readonly #base: string;
  readonly #options: TransportOptions;

  constructor(options: TransportOptions) {
    const url = new URL(options.baseUrl);
    if (url.protocol !== "http:" && url.protocol !== "https:") {
      throw new TypeError(`baseUrl ${options.baseUrl} is no http or https address`);
    }
    this.#base = url.origin + url.pathname.replace(/\/+$/, "");
    this.#options = options;
    this.sleep = options.sleep ?? sleep;
  }

  async send(call: Call, options: CallOptions = {}): Promise<Answer> {
    const retries = options.retries ?? this.#options.retries ?? 6;
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#once(call, options);
      } catch (error) {
        const delay = attempt < retries && mayRepeat(call, error) ? this.#delay(error, attempt) : undefined;
        if (delay === undefined) throw error;
        await this.sleep(delay, options.signal);
      }
    }
  }

  /** #delay is how long to wait before the next attempt; undefined: too long to wait. */
  #delay(error: unknown, attempt: number): number | undefined {
    const most = this.#options.maxRetryDelay ?? 10_000;
    const asked = error instanceof ProblemError ? error.retryAfter : undefined;
    if (asked !== undefined && asked > most) return undefined;
    const backOff = Math.min(most, firstDelay * 2 ** attempt);
    return Math.max(asked ?? 0, backOff * (0.5 + Math.random() / 2));
  }

  async #once(call: Call, { signal, timeout }: CallOptions): Promise<Answer> {
    signal?.throwIfAborted();
    const route = `${call.method} ${call.path}`;
    const limit = timeout ?? call.timeout ?? this.#options.timeout ?? 30_000;
    const stop = new AbortController();
    const stopped = new Promise<never>((_, reject) => {
      stop.signal.addEventListener("abort", () => reject(stop.signal.reason));
    });
    const abort = () => stop.abort(signal?.reason);
    signal?.addEventListener("abort", abort, { once: true });
    const timer = setTimeout(() => stop.abort(new TimeoutError(`${route}: no answer within ${limit} ms`)), limit);
    let response: Response;
    let text: string;
    try {
      // Some answers, such as a broken encoding, leave fetch waiting although it was aborted.
      [response, text] = await Promise.race([this.#fetch(call, stop.signal), stopped]);
    } catch (error) {
      if (stop.signal.aborted) throw stop.signal.reason;
      throw connectionError(route, this.#base, error);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
    }
    if (!response.ok) throw problemError(route, response, text);
    return { status: response.status, headers: response.headers, data: parse(route, response, text) };
  }

  async #fetch(call: Call, signal: AbortSignal): Promise<[Response, string]> {
    const fetch = this.#options.fetch ?? globalThis.fetch;
    const response = await fetch(this.#url(call), this.#init(call, signal));
    return [response, await response.text()];
  }

  #url(call: Call): string {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(call.query ?? {})) {
      if (value !== undefined && value !== null) query.set(name, String(value));
    }
    return this.#base + call.path + (query.size > 0 ? `?${query}` : "");
  }

  #init(call: Call, signal: AbortSignal): RequestInit {
    const headers: Record<string, string> = { accept: "application/json, application/problem+json" };
    if (this.#options.token) headers["authorization"] = `Bearer ${this.#options.token}`;
    if (call.body !== undefined) headers["content-type"] = call.contentType ?? "application/json";
    for (const [name, value] of Object.entries(call.headers ?? {})) {
      if (value !== undefined) headers[name] = value;
    }
    // A redirect would carry words of people to a place that nobody named.
    return { method: call.method, headers, body: call.body ?? null, signal, redirect: "manual" };
  }
}

/** encode makes JSON. Half a surrogate pair, as some platforms cut texts, would be refused. */
export function encode(value: unknown): string {
  return JSON.stringify(value, (_, v: unknown) => (typeof v === "string" ? v.toWellFormed() : v));
}

function parse(route: string, { status }: Response, text: string): unknown {
  if (status === 204) return undefined;
  let cause: unknown;
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  } catch (error) {
    cause = error;
  }
  throw new ReverieError(`${route}: the answer is no object of JSON: is there a Reverie at the baseUrl?`, { cause });
}

// Failures before anything was sent.
const unsent = ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "UND_ERR_CONNECT_TIMEOUT"];

function connectionError(route: string, base: string, error: unknown): ConnectionError {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  const why = (cause instanceof Error && cause.message) || code || String(error);
  return new ConnectionError(`${route}: no connection to ${base}: ${why}`, unsent.includes(code), error);
}

/** mayRepeat tells whether a request that failed may be sent again. */
function mayRepeat(call: Call, error: unknown): boolean {
  if (error instanceof ConnectionError) return error.unsent || call.idempotent;
  if (error instanceof TimeoutError) return call.idempotent;
  if (!(error instanceof ProblemError)) return false;
  // The server says that it did nothing: too many requests, or a group that is worked on.
  if (error.status === 429 || (error.status === 409 && error.retryAfter !== undefined)) return true;
  const away = error.status === 503 || (!error.fromServer && (error.status === 502 || error.status === 504));
  return away && call.idempotent;
}

/** sleep waits; an abort ends it with the signal's reason. */
export const sleep: Sleep = (milliseconds, signal) =>
  new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, milliseconds);
    signal?.addEventListener("abort", abort, { once: true });
  });
