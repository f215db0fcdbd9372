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
}

export const aheadRoutes = {
  "edit-message": ["PATCH", "/v1/groups/{group_id}/messages/{message_id}", 0],
  "delete-message": ["DELETE", "/v1/groups/{group_id}/messages/{message_id}", 0],
  "get-author-memories": ["GET", "/v1/groups/{group_id}/authors/{author_id}/memories", 200],
  "forget-author": ["POST", "/v1/groups/{group_id}/authors/{author_id}/forget", 0],
} as const satisfies Record<keyof Ahead, readonly [string, string, number]>;
