export type { Evolved, GroupOptions, ReverieOptions } from "./client.js";
export { Reverie } from "./client.js";
export type { MemoryOptions, Turn } from "./middleware.js";
export { Memory } from "./middleware.js";
export type { Problem } from "./errors.js";
export {
  ConflictError, ConnectionError, ForbiddenError, InvalidError, NotFoundError, ProblemError, RateLimitError,
  ReverieError, ServerError, TimeoutError, UnauthorizedError,
} from "./errors.js";
export type {
  DeletedMessage, EditedMessage, MessageLine, MessageLines, NewMessage, ReactedMessage, Reaction, Remembered,
} from "./messages.js";
export type { components } from "./openapi.js";
export type { BodyOf, InputOf, OperationId, Operations, QueryOf, ReplyOf } from "./operations.js";
export type { QueueCounts } from "./queue.js";
export type { CallOptions, Sleep } from "./transport.js";
export type { EventData, VerifyOptions, WebhookEvent, WebhookHeaders } from "./webhooks.js";
export { verifyWebhook, WebhookError } from "./webhooks.js";
