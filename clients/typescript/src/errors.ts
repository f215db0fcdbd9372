import type { components } from "./openapi.js";

/** What the server says of an error: RFC 9457. */
export type Problem = components["schemas"]["Problem"];

/** Every error of this package, but for an abort, which throws the reason of its signal. */
export class ReverieError extends Error {
  override name = "ReverieError";
}

/** The server could not be reached, or the connection broke. */
export class ConnectionError extends ReverieError {
  override name = "ConnectionError";
  constructor(
    message: string,
    /** The request never left: nothing was done. */
    readonly unsent: boolean,
    cause?: unknown,
  ) {
    super(message, { cause });
  }
}

/** No answer within the timeout. */
export class TimeoutError extends ReverieError {
  override name = "TimeoutError";
}

/** The server refused, or failed. */
export class ProblemError extends ReverieError {
  override name = "ProblemError";
  readonly status: number;
  /** What happened, to what, and what to do next. */
  readonly detail: string;
  /** Each thing that is wrong with the request. */
  readonly errors: NonNullable<Problem["errors"]>;
  /** The id of the request, as in the server's log. */
  readonly requestId: string | undefined;

  constructor(
    route: string,
    /** The document as the server sent it: head_id, current and findings stand in it. */
    readonly problem: Problem,
    /** Milliseconds that the server asks to wait. */
    readonly retryAfter: number | undefined,
    /** False where something between here and the server answered. */
    readonly fromServer: boolean,
  ) {
    const errors = problem.errors ?? [];
    const more = errors.map((e) => `${e.location ?? "request"}: ${e.message}`).join("; ");
    super(`${route}: ${problem.status} ${problem.detail}${more && ` (${more})`}`);
    this.status = problem.status;
    this.detail = problem.detail;
    this.errors = errors;
    this.requestId = problem.instance;
  }
}

/** 401: the token is missing or wrong. */
export class UnauthorizedError extends ProblemError {
  override name = "UnauthorizedError";
}
/** 403: the token's scope is too small. */
export class ForbiddenError extends ProblemError {
  override name = "ForbiddenError";
}
/** 404: there is no such thing, or none that the token may see. */
export class NotFoundError extends ProblemError {
  override name = "NotFoundError";
}
/** 409, 412 and 428: it has changed meanwhile, or another run works on the group. */
export class ConflictError extends ProblemError {
  override name = "ConflictError";
}
/** 400, 413, 415 and 422: the request breaks a rule; `errors` says where. */
export class InvalidError extends ProblemError {
  override name = "InvalidError";
}
/** 429: too many requests. */
export class RateLimitError extends ProblemError {
  override name = "RateLimitError";
}
/** 5xx: the server, its model or its database cannot answer. */
export class ServerError extends ProblemError {
  override name = "ServerError";
}

const byStatus: Record<number, typeof ProblemError> = {
  400: InvalidError, 401: UnauthorizedError, 403: ForbiddenError, 404: NotFoundError, 409: ConflictError,
  412: ConflictError, 413: InvalidError, 415: InvalidError, 422: InvalidError, 428: ConflictError, 429: RateLimitError,
};

/** problemError makes the error of an answer from its status, body and headers. */
export function problemError(route: string, response: Response, body: string): ProblemError {
  const problem = readProblem(response, body);
  const fromServer = problem !== undefined;
  const said: Problem = problem ?? {
    type: "about:blank",
    title: response.statusText,
    status: response.status,
    detail: notOurs(response),
  };
  const kind = byStatus[response.status] ?? (response.status >= 500 ? ServerError : ProblemError);
  return new kind(route, said, retryAfter(response.headers.get("retry-after")), fromServer);
}

function notOurs(response: Response): string {
  const to = response.headers.get("location");
  return to
    ? `the server sends this elsewhere: use ${to} as baseUrl, if you trust it`
    : "this is no answer of Reverie: look at the baseUrl, and at what stands between";
}

function readProblem(response: Response, body: string): Problem | undefined {
  if (!response.headers.get("content-type")?.startsWith("application/problem+json")) return undefined;
  try {
    const problem = JSON.parse(body) as Problem;
    return typeof problem.detail === "string" ? { ...problem, status: response.status } : undefined;
  } catch {
    return undefined;
  }
}

/** retryAfter reads seconds or a date of HTTP, in milliseconds from now. */
function retryAfter(value: string | null): number | undefined {
  if (value === null) return undefined;
  const seconds = Number(value);
  const wait = Number.isNaN(seconds) ? Date.parse(value) - Date.now() : seconds * 1000;
  return Number.isNaN(wait) ? undefined : Math.max(0, wait);
}
