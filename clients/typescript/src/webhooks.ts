import { createHmac, timingSafeEqual } from "node:crypto";
import { ReverieError } from "./errors.js";

/** What an event tells. More may be added. */
export interface EventData {
  group_id?: string;
  memory_id?: string;
  lineage_id?: string;
  version?: number;
  kind?: string;
  action?: string;
  verdict?: string;
  /** If the webhook asks for it. */
  statement?: string;
  run_id?: string;
  job?: string;
  webhook_id?: string;
}

/** An event of a webhook. */
export interface WebhookEvent {
  /** The same for each delivery of one event: keep it to know repetitions. */
  id: string;
  type:
    | `memory.${"created" | "updated" | "deleted" | "reviewed"}`
    | `run.${"succeeded" | "held" | "deferred" | "failed" | "rejected" | "undone"}`
    | "webhook.test"
    | (string & {});
  /** When it happened, RFC 3339. */
  timestamp: string;
  data: EventData;
}

/** The webhook is not what it should be: do not believe it, and answer 400. */
export class WebhookError extends ReverieError {
  override name = "WebhookError";
}

/** The headers of a request: those of fetch, or those of Node's http. */
export type WebhookHeaders =
  | { get(name: string): string | null }
  | Record<string, string | readonly string[] | undefined>;

export interface VerifyOptions {
  /** Seconds that the webhook's clock and ours may differ. 300. */
  tolerance?: number;
  /** Milliseconds since 1970, instead of the clock. */
  now?: number;
}

/**
 * verifyWebhook checks the signature of a webhook (Standard Webhooks) and returns its event. The body is
 * the request's as it came, not parsed. While a secret is being replaced, give the old and the new one.
 */
export function verifyWebhook(
  headers: WebhookHeaders,
  body: string | Uint8Array,
  secret: string | readonly string[],
  options: VerifyOptions = {},
): WebhookEvent {
  const id = header(headers, "webhook-id");
  const timestamp = header(headers, "webhook-timestamp");
  const signatures = header(headers, "webhook-signature");
  checkTime(timestamp, options);
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const given = signatures.split(" ").filter((s) => s.startsWith("v1,")).map((s) => Buffer.from(s.slice(3), "base64"));
  const good = [secret].flat().some((one) => {
    const ours = createHmac("sha256", key(one)).update(`${id}.${timestamp}.`).update(bytes).digest();
    return given.some((theirs) => theirs.length === ours.length && timingSafeEqual(theirs, ours));
  });
  if (!good) throw new WebhookError("the webhook's signature is wrong: it was changed, or signed with another secret");
  return { ...parse(bytes), id };
}

function key(secret: string): Buffer {
  const bytes = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  if (bytes.length === 0) throw new TypeError("the webhook's secret is empty: it begins with whsec_");
  return bytes;
}

function header(headers: WebhookHeaders, name: string): string {
  const value = isFetch(headers)
    ? headers.get(name)
    : Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  if (typeof value !== "string" || value === "") throw new WebhookError(`the webhook has no header ${name}`);
  return value;
}

function isFetch(headers: WebhookHeaders): headers is { get(name: string): string | null } {
  return typeof headers["get"] === "function";
}

function checkTime(timestamp: string, { tolerance = 300, now = Date.now() }: VerifyOptions): void {
  if (!/^\d+$/.test(timestamp)) throw new WebhookError("the webhook's timestamp is no number of seconds");
  if (Math.abs(now / 1000 - Number(timestamp)) > tolerance) {
    const why = "it is a repetition, or a clock is wrong";
    throw new WebhookError(`the webhook's timestamp is more than ${tolerance} seconds away: ${why}`);
  }
}

function parse(body: Uint8Array): Omit<WebhookEvent, "id"> {
  try {
    const event = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body)) as WebhookEvent;
    if (typeof event.type === "string" && typeof event.data === "object" && event.data !== null) return event;
  } catch (error) {
    throw new WebhookError("the webhook's body is no JSON", { cause: error });
  }
  throw new WebhookError("the webhook's body is no event");
}
