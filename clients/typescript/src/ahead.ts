import type { components } from "./openapi.js";

// Operations whose routes are fixed, and which the document does not have yet. The document's own
// win as soon as they are there; then they go from here.

type Schemas = components["schemas"];
type Op<Path, Query, Body, Reply> = {
  parameters: { path: Path; query?: Query; header?: never };
  requestBody?: { content: { "application/json": Body } };
  responses: { 200: { content: { "application/json": Reply } } };
};
type Group = { group_id: string };
type Done = { success: boolean; [more: string]: unknown };
type MessageDone = Done & { group_id: string };

type Webhook = {
  webhook_id: string; group_id: string; url: string; events: string[]; statements: boolean; created_at: string;
  failures: number; failing_since?: string; last_error?: string; disabled_at?: string; waiting: number;
  oldest_at?: string;
};
type NewWebhook = { url: string; group_id?: string; events?: string[]; statements?: boolean };

export interface Ahead {
  "edit-message": Op<Group & { message_id: string }, never, { text: string; edited_at?: string }, MessageDone>;
  "delete-message": Op<Group & { message_id: string }, never, never, MessageDone>;
  "get-author-memories": Op<Group & { author_id: string }, { limit?: number; offset?: number }, never, {
    success: boolean; group_id: string; author_id: string; names: string[]; messages: number; total: number;
    memories: Schemas["Memory"][]; entity?: Schemas["EntityReply"];
  }>;
  "forget-author": Op<Group & { author_id: string }, never, { dry_run?: boolean; keep_names?: string[] }, {
    success: boolean; group_id: string; dry_run?: boolean; messages: number; erased: number; held: number;
  }>;
  "link-entity": Op<Group & { entity_id: string }, never, { group_id: string; entity_id: string }, Done>;
  "unlink-entity": Op<Group & { entity_id: string }, never, { group_id: string; entity_id: string }, Done>;
  "list-webhooks": Op<never, never, never, { success: boolean; webhooks: Webhook[] }>;
  "add-webhook": Op<never, never, NewWebhook, Webhook & { success: boolean; secret?: string }>;
  "delete-webhook": Op<{ id: string }, never, never, Done>;
  "test-webhook": Op<{ id: string }, never, never,
    { success: boolean; webhook_id: string; http_status?: number; error?: string }>;
  "replay-webhook": Op<{ id: string }, never, { since?: string; until?: string },
    { success: boolean; webhook_id: string; events: number }>;
}

export const aheadRoutes = {
  "edit-message": ["PATCH", "/v1/groups/{group_id}/messages/{message_id}", 0],
  "delete-message": ["DELETE", "/v1/groups/{group_id}/messages/{message_id}", 0],
  "get-author-memories": ["GET", "/v1/groups/{group_id}/authors/{author_id}/memories", 200],
  "forget-author": ["POST", "/v1/groups/{group_id}/authors/{author_id}/forget", 0],
  "link-entity": ["POST", "/v1/groups/{group_id}/entities/{entity_id}/link", 0],
  "unlink-entity": ["DELETE", "/v1/groups/{group_id}/entities/{entity_id}/link", 0],
  "list-webhooks": ["GET", "/v1/webhooks", 0],
  "add-webhook": ["POST", "/v1/webhooks", 0],
  "delete-webhook": ["DELETE", "/v1/webhooks/{id}", 0],
  "test-webhook": ["POST", "/v1/webhooks/{id}/test", 0],
  "replay-webhook": ["POST", "/v1/webhooks/{id}/replay", 0],
} as const satisfies Record<keyof Ahead, readonly [string, string, number]>;
