import type { operations } from "./openapi.js";
import { routes } from "./openapi.js";

/** Every operation of the document. */
export type Operations = operations;

/** The name of an operation, such as "list-memories". */
export type OperationId = keyof Operations;

/** Every route by its operation: method, path, and the rows of a page at most. */
export const allRoutes: Record<OperationId, readonly [method: string, path: string, rows: number]> = routes;

/** POST and PATCH that come to the same when they are sent twice. */
const repeatable: readonly OperationId[] = [
  "add-messages", "edit-message", "evolve-group", "explain-context", "forget-author", "give-feedback", "link-entity",
  "make-context",
];

/** isIdempotent tells whether an operation may be sent again although it may have been carried out. */
export function isIdempotent(id: OperationId): boolean {
  return ["GET", "PUT", "DELETE"].includes(allRoutes[id][0]) || repeatable.includes(id);
}

type Parameters<Id extends OperationId, In extends string> =
  Operations[Id] extends { parameters: { [K in In]?: infer P } } ? Exclude<P, undefined> : never;
type OptionalGroup<P> = [P] extends [never] ? never
  : "group_id" extends keyof P ? Omit<P, "group_id"> & { group_id?: string } : P;
type Content<B> = B extends { content: infer C } ? C[keyof C] : never;
type Needs<K extends string, P> = [P] extends [never] ? { [key in K]?: never }
  : object extends P ? { [key in K]?: P | undefined } : { [key in K]: P };

/** The parameters in the query of an operation. */
export type QueryOf<Id extends OperationId> = Parameters<Id, "query">;

/** The body of an operation. */
export type BodyOf<Id extends OperationId> =
  Operations[Id] extends { requestBody?: infer B } ? Content<Exclude<B, undefined>> : never;

/** What an operation needs. A group_id that is left out is the client's. */
export type InputOf<Id extends OperationId> =
  & Needs<"path", OptionalGroup<Parameters<Id, "path">>>
  & Needs<"query", QueryOf<Id>>
  & Needs<"headers", Parameters<Id, "header">>
  & Needs<"body", BodyOf<Id>>;

type Replies<R> = { [S in keyof R]: R[S] extends { content: infer C } ? C[keyof C] : undefined }[keyof R];

/** What an operation answers where it does not fail. */
export type ReplyOf<Id extends OperationId> = Operations[Id] extends { responses: infer R } ? Replies<R> : never;
