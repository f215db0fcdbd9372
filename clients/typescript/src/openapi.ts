// Generated from the OpenAPI document by `npm run generate`. Do not edit.

export interface paths {
    "/memory/{group_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Write a memory
         * @description Adds what a person writes to a group's memories. Its author is the name of the token, or its id. A statement that breaks a rule is a 422. One that another active memory makes is a 409 that names it. To have a person decide first, propose it.
         *
         *     Needs a token of scope write.
         */
        post: operations["add-memory"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/memory/{memory_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a memory
         * @description What a memory says, the words that it rests on with author and date, and its versions, oldest first.
         *
         *     Needs a token of scope read.
         */
        get: operations["get-memory"];
        put?: never;
        post?: never;
        /**
         * Delete a memory
         * @description Ends the lineage's head. Nothing is lost: it can be restored. Writing to an old version is a 409 whose head_id and head_version name the lineage's head.
         *
         *     Needs a token of scope write.
         */
        delete: operations["delete-memory"];
        options?: never;
        head?: never;
        /**
         * Edit a memory
         * @description Makes a new version of an active head with other words, tags, type or date; what is left out stays. With scope alone it says how far the memory reaches: that needs a token of scope admin. Writing to an old version is a 409 whose head_id and head_version name the lineage's head.
         *
         *     Needs a token of scope write.
         */
        patch: operations["edit-memory"];
        trace?: never;
    };
    "/memory/{memory_id}/restore": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Restore a memory
         * @description Makes a new version of a head that was deleted or archived. Writing to an old version is a 409 whose head_id and head_version name the lineage's head.
         *
         *     Needs a token of scope write.
         */
        put: operations["restore-memory"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/memory/{memory_id}/strength": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Set the strength of a memory
         * @description Sets how well supported an active memory counts. Writing to an old version is a 409 whose head_id and head_version name the lineage's head.
         *
         *     Needs a token of scope write.
         */
        put: operations["set-memory-strength"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/memory/changes/{group_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List what changed in a group's memories
         * @description The change log of the last days, newest first, at most 1000 changes.
         *
         *     Needs a token of scope read.
         */
        get: operations["list-changes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/memory/evolve/{group_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Take a group's pending messages in
         * @description Asks the model what to keep, update, create and delete, and applies it. Where that takes longer than the server lets clients wait, the answer is a 202 that names the run, which goes on.
         *
         *     Needs a token of scope write.
         */
        post: operations["evolve-group"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/memory/history/{memory_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List all versions of a memory
         * @description All versions of the lineage that a version belongs to, oldest first. With at or recorded_at, those that there were then, each with its status of then.
         *
         *     Needs a token of scope read.
         */
        get: operations["get-memory-history"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/memory/list/{group_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List a group's memories
         * @description A page of a group's memories, oldest lineage first, now or as they were at an instant.
         *
         *     Needs a token of scope read.
         */
        get: operations["list-memories"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/memory/search/{group_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Search a group's memories by meaning and by words
         * @description The memories nearest to a text, best first. Every active memory of the group is compared, and archived ones come last. The score goes from 0 to 1, and related texts begin at 0.7, whatever the embedding model. Where no memory reaches that and no threshold is given, the nearest three come with related false, and message says so. Without a model, or where it fails, words alone count, and warnings says so. With at, what had been said in the chat, and stood, at that instant is searched; with recorded_at, what was written and active then.
         *
         *     Needs a token of scope read.
         */
        get: operations["search-memories"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/costs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Say what models have cost
         * @description By day, group and model, of all groups that the token may see, or of one.
         *
         *     Needs a token of scope read.
         */
        get: operations["get-costs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/dreams/{group_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get what a group's dreams have left
         * @description The narrative of the last dream, and the preferences, themes and open threads that stand.
         *
         *     Needs a token of scope read.
         */
        get: operations["get-dream"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/entities/{group_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the people and things of a group
         * @description A page of those that the group talks about, by subject, with what is said of them.
         *
         *     Needs a token of scope read.
         */
        get: operations["list-entities"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/entities/{group_id}/{entity_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get one of the people and things
         * @description What it is called, what is said of it, and on which evidence.
         *
         *     Needs a token of scope read.
         */
        get: operations["get-entity"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/groups": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List groups
         * @description A page of the groups that the token may see, by id, and how they stand.
         *
         *     Needs a token of scope read.
         */
        get: operations["list-groups"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/groups/{group_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a group
         * @description A group, its settings, and how it stands.
         *
         *     Needs a token of scope read.
         */
        get: operations["get-group"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/groups/{group_id}/authors/{author_id}/forget": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Forget an author
         * @description Erases an author in this group, as `reverie erase` does, but for the files of the database, and answers with the receipt. Only a backup brings anything back. Doing it again changes nothing. Other groups are not touched. While a run works in the group the answer is a 409.
         *
         *     Needs a token of scope write.
         */
        post: operations["forget-author"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/groups/{group_id}/authors/{author_id}/memories": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show what is remembered of an author
         * @description The memories that rest on the author's words, or name them, and who they are to the group. Of somebody who is not known it is empty.
         *
         *     Needs a token of scope read.
         */
        get: operations["get-author-memories"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/groups/{group_id}/context": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get what a bot should know for its next turn
         * @description The memories that bear on the query, the people and things that it names, and what was said in the session, as one text that is ready to stand in a prompt, and in parts. What is remembered is data, not instructions. What is offered is logged as used.
         *
         *     Needs a token of scope read.
         */
        get: operations["get-context"];
        put?: never;
        /**
         * Get what a bot should know, for a long query
         * @description The memories that bear on the query, the people and things that it names, and what was said in the session, as one text that is ready to stand in a prompt, and in parts. What is remembered is data, not instructions. What is offered is logged as used.
         *
         *     Needs a token of scope read.
         */
        post: operations["make-context"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/groups/{group_id}/diff": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Say how a group's memories differ between two instants
         * @description What was active at the one and not at the other, and what says something else, with the changes in between. A version that begins at an instant is active at it; one that ends at it is not. At most 1000 of each.
         *
         *     Needs a token of scope read.
         */
        get: operations["get-memory-diff"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/groups/{group_id}/entities/{entity_id}/link": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Link a person with a person of another group
         * @description Says that they are the same. Facts of scope person that the one has said of themselves are read in the other's group, too. Both need an account of the same id; without one it is a 409. It needs a token of both groups.
         *
         *     Needs a token of scope admin.
         */
        post: operations["link-entity"];
        /**
         * Take back that two people are the same
         * @description Ends a link, on both sides and at once. One that is not there is a 404.
         *
         *     Needs a token of scope admin.
         */
        delete: operations["unlink-entity"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/groups/{group_id}/explain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Explain what a bot would be told, and why
         * @description Makes a context as get-context does, and tells of every memory that was looked at what it scored and what became of it. Nothing is logged as used.
         *
         *     Needs a token of scope read.
         */
        post: operations["explain-context"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/groups/{group_id}/feedback": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Report what a bot answered
         * @description Judges which of the memories that were offered the answer used, and moves their weights, once for each context. usage_id or session_id says which context.
         *
         *     Needs a token of scope write.
         */
        post: operations["give-feedback"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/groups/{group_id}/messages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List a group's messages
         * @description A page of messages, oldest first: the newest, those before or after one, or those around one, each with what became of it.
         *
         *     Needs a token of scope read.
         */
        get: operations["list-messages"];
        put?: never;
        /**
         * Bring messages in
         * @description The body is a message a line, as `reverie import` reads JSON Lines, stored as it comes in. A message whose id is known stays as it was, so that sending again does no harm. A line with edited_at, deleted_at or reactions, and no sent_at, changes a message, also one that comes later: a newer text replaces its text, a deletion takes with it what rests on it alone, and each reaction counts as it was said last. What cannot be done yet is counted in waiting, and done when the message has come or the group's run has ended. Lines that cannot be taken are told of, the first ones each, and do not keep the others out: success then is false. Where no line at all could be taken the answer is a 422. The group is made if there is none.
         *
         *     Needs a token of scope write.
         */
        post: operations["add-messages"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/groups/{group_id}/messages/{message_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Delete a message
         * @description Deletes a message, its text wherever it stands in what was made of it, and what rests on it alone; what rests on other messages, too, is judged again. It does not come in again, nor does one that is not there yet. Deleting it again changes nothing. While a run works in the group it waits, and waiting is 1.
         *
         *     Needs a token of scope write.
         */
        delete: operations["delete-message"];
        options?: never;
        head?: never;
        /**
         * Edit a message
         * @description Replaces the text, unless a newer one is stored. Words of it that memories quote, and that it does not have any more, are withdrawn; what rests on nothing else is not recalled until it has been judged again. While a run works in the group the change waits, and waiting is 1.
         *
         *     Needs a token of scope write.
         */
        patch: operations["edit-message"];
        trace?: never;
    };
    "/v1/groups/{group_id}/nights": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List a group's nights
         * @description What became of the group's memories date by date of its own calendar, newest first.
         *
         *     Needs a token of scope read.
         */
        get: operations["list-nights"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/groups/{group_id}/proposals": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Propose what is to be remembered, or forgotten
         * @description Nothing changes until a person approves it: the answer names the run that holds it.
         *
         *     Needs a token of scope write.
         */
        post: operations["propose-memory"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/groups/{group_id}/sessions/{session_id}/buffer": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Clear a session's short-term memory
         * @description The rolling summary and the turns that stand word for word are in no context any more. Messages and memories stay, and what waits for extraction waits. Clearing it again does nothing.
         *
         *     Needs a token of scope write.
         */
        delete: operations["clear-session"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/groups/{group_id}/stats": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Say how a group's memories stand
         * @description Counts by kind, strength, weight and day, and which memories are used.
         *
         *     Needs a token of scope read.
         */
        get: operations["get-group-stats"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memories/{memory_id}/blame": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Say who wrote a memory
         * @description For each version of its lineage the run, model, prompt version and messages that wrote it, and for each word of the newest, which version brought it.
         *
         *     Needs a token of scope read.
         */
        get: operations["get-memory-blame"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memories/{memory_id}/why": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Say what stands behind a memory
         * @description For each version of its lineage: what made it, on which evidence, by which run and decision, and what changed it later.
         *
         *     Needs a token of scope read.
         */
        get: operations["get-memory-why"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List runs
         * @description A page of runs, newest first, with what each has spent.
         *
         *     Needs a token of scope read.
         */
        get: operations["list-runs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/runs/{run_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a run
         * @description A run with its chunks, changes, refusals, calls, and what it holds.
         *
         *     Needs a token of scope read.
         */
        get: operations["get-run"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/runs/{run_id}/approve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Approve what a run holds
         * @description Applies the plan that waits. Lines whose memory has moved since are refused.
         *
         *     Needs a token of scope admin.
         */
        post: operations["approve-run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/runs/{run_id}/reject": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Reject what a run holds
         * @description Nothing is applied. With requeue its messages are pending again.
         *
         *     Needs a token of scope admin.
         */
        post: operations["reject-run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/runs/{run_id}/undo": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Undo a run
         * @description What it did is put back as new versions; history stays. What others have changed since is left and listed, unless forced. A run that is undone already is a 409.
         *
         *     Needs a token of scope admin.
         */
        post: operations["undo-run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/team/memories": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List a team's memories
         * @description A page of the team's memories by id, each as it is now, deleted ones included.
         *
         *     Needs a token of scope read.
         */
        get: operations["list-team-memories"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/team/memories/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a team's memory
         * @description The newest version of the memory, deleted or not. The ETag is its version_id.
         *
         *     Needs a token of scope read.
         */
        get: operations["get-team-memory"];
        /**
         * Write a team's memory
         * @description Makes the body the newest version of the memory. If-Match with the ETag of the version that it was made from changes it, If-None-Match: * creates it, and the team with it; one of them is needed (428). Where the memory is another by now nothing is written, and the 412 has it as current. What holds a secret, or can be no memory, is a 422 whose findings name field and rule. A memory is deleted by status deprecated, and restored by active. Another active memory of the team that says the same is a 409.
         *
         *     Needs a token of scope write.
         */
        put: operations["put-team-memory"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List webhooks
         * @description With how they fare and what waits for them. A token of a group sees those of its group alone.
         *
         *     Needs a token of scope admin.
         */
        get: operations["list-webhooks"];
        put?: never;
        /**
         * Add a webhook
         * @description The answer shows the secret, which is not shown again. A token of a group adds one for its group.
         *
         *     Needs a token of scope admin.
         */
        post: operations["add-webhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Remove a webhook
         * @description What waits for it is not sent.
         *
         *     Needs a token of scope admin.
         */
        delete: operations["delete-webhook"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks/{id}/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send events again
         * @description The events from an instant, or from one of them on, are sent again, with their ids. It enables the webhook.
         *
         *     Needs a token of scope admin.
         */
        post: operations["replay-webhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks/{id}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a webhook a test
         * @description An event of type webhook.test is sent once. The answer is a 200 also where the webhook failed.
         *
         *     Needs a token of scope admin.
         */
        post: operations["test-webhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        AddMemoryBody: {
            /**
             * @description The date of a plan; none takes it away.
             * @example 2026-01-15
             */
            due_on?: string;
            /**
             * @description Why: it is kept with the change.
             * @example Ann asked for it.
             */
            reason: string;
            /**
             * @description What is to be remembered.
             * @example The group meets on Fridays.
             */
            statement: string;
            /** @description Its tags, in place of those that it has. */
            tags?: string[];
            /**
             * @description What kind of thing it says; a new memory is a fact.
             * @enum {string}
             */
            type?: "fact" | "habit" | "opinion" | "rule" | "plan" | "culture";
        };
        AddWebhookBody: {
            /** @description Only events of these types, such as memory.created. */
            events?: string[];
            /** @description Only events of this group. */
            group_id?: string;
            /** @description What to sign with: whsec_ and base64. Left out, one is made. */
            secret?: string;
            /**
             * @description Whether bodies repeat what memories say.
             * @default true
             */
            statements?: boolean;
            /**
             * @description Where events are posted to.
             * @example https://bot.example.com/reverie
             */
            url: string;
        };
        ApproveBody: {
            /**
             * @deprecated
             * @description Not accepted any more: what a run holds is approved or rejected as it is.
             */
            plan?: string;
        };
        AuthorMemoriesReply: {
            /** @description Id of the author. */
            author_id: string;
            entity?: components["schemas"]["EntityReply"];
            /** @description The group. */
            group_id: string;
            /** @description Memories that rest on the author's words, or name the author. */
            memories: components["schemas"]["Memory"][];
            /**
             * Format: int64
             * @description Messages of theirs that are stored.
             */
            messages: number;
            /** @description Names that they wrote under. */
            names: string[];
            /** @description true; what failed is a problem. */
            success: boolean;
            /**
             * Format: int64
             * @description Rows of all pages.
             */
            total: number;
        };
        BadLine: {
            /**
             * Format: int64
             * @description Which line, from 1.
             */
            line: number;
            /** @description Why. */
            reason: string;
        };
        BlameReply: {
            /** @description There is more than an answer holds. */
            cut?: boolean;
            /** @description The group. */
            group_id: string;
            memory: components["schemas"]["Memory"];
            /** @description true; what failed is a problem. */
            success: boolean;
            /** @description Versions. */
            versions: components["schemas"]["BlameVersion"][];
            /** @description The statement in pieces, each with the version that brought it. */
            words: components["schemas"]["BlameWords"][];
        };
        BlameRun: {
            /**
             * Format: int64
             * @description Which chunk of the run, from 1.
             */
            chunk_no?: number;
            /** @description What it did: evolve, dream, extract, impression, maintain or propose. */
            job: string;
            /** @description The model. */
            model: string;
            /** @description Of the prompt. */
            prompt_sha256: string;
            /** @description Of the prompt. */
            prompt_version: string;
            /** @description The run. */
            run_id: string;
            /**
             * Format: date-time
             * @description When it was undone.
             */
            undone_at?: string;
        };
        BlameVersion: {
            /**
             * @description What was done.
             * @enum {string}
             */
            action: "keep" | "update" | "create" | "delete" | "restore" | "archive" | "strength" | "weight" | "scope" | "undo";
            /** @description It was held, and a person let it pass. */
            approved?: boolean;
            /**
             * Format: date-time
             * @description When.
             */
            at: string;
            /** @description Why. */
            change_reason?: string;
            /** @description Messages behind it, also where its run was undone. */
            evidence: components["schemas"]["Evidence"][];
            /** @description Names the version. */
            memory_id: string;
            /**
             * Format: int64
             * @description Characters of the newest statement that the version brought.
             */
            remaining: number;
            run?: components["schemas"]["BlameRun"];
            /** @description Memories that it rests on. */
            sources?: components["schemas"]["SourceMemory"][];
            /** @description What is remembered. */
            statement: string;
            /**
             * @description How it stands.
             * @enum {string}
             */
            status: "active" | "superseded" | "deprecated" | "archived" | "held";
            /** @description Of an undo: the run that it undid. */
            undone_run_id?: string;
            /**
             * Format: int64
             * @description Which version, from 1.
             */
            version: number;
        };
        BlameWords: {
            /** @description Words that follow one another. */
            text: string;
            /**
             * Format: int64
             * @description Which version, from 1.
             */
            version: number;
        };
        Call: {
            /**
             * Format: int64
             * @description Of input_tokens, those that the provider had in its cache.
             */
            cached_tokens: number;
            /** @description The call's id. */
            call_id: string;
            /**
             * Format: double
             * @description US dollars.
             */
            cost_usd: number;
            /**
             * Format: date-time
             * @description When it was made.
             */
            created_at: string;
            /** @description The group. */
            group_id: string;
            /**
             * Format: int64
             * @description Tokens of what models were asked.
             */
            input_tokens: number;
            /** @description The model. */
            model: string;
            /** @description ok, or what went wrong. */
            outcome: string;
            /**
             * Format: int64
             * @description Tokens of what models answered.
             */
            output_tokens: number;
            /** @description Who serves the model. */
            provider: string;
            /** @description What the model was asked for. */
            purpose: string;
            /** @description The run. */
            run_id: string | null;
            /** @description How the call was handed in: standard, flex or batch. */
            tier: string;
        };
        Candidate: {
            /** @description Names the version. */
            memory_id: string;
            /** @description The statement that would say both. */
            merged?: string;
            /** @description Why. */
            reason?: string;
            /** @description How the fact stands to the memory. */
            relation?: string;
            /**
             * Format: double
             * @description How well it fits.
             */
            score: number;
            /** @description What is remembered. */
            statement: string;
            /**
             * Format: int64
             * @description Which version, from 1.
             */
            version: number;
        };
        Change: {
            /**
             * @description What was done.
             * @enum {string}
             */
            action: "keep" | "update" | "create" | "delete" | "restore" | "archive" | "strength" | "weight" | "scope" | "undo";
            /** @description Why. */
            change_reason: string;
            /** @description What it rests on: messages and words in them. */
            evidence?: components["schemas"]["Evidence"][];
            /** @description Names the version. */
            memory_id: string;
            /** @description What it says now. */
            new_statement: string;
            /** @description Names the version before. */
            old_id: string | null;
            /** @description What it said before. */
            old_statement: string;
            /**
             * Format: date-time
             * @description When.
             */
            timestamp: string;
            /** @description Of an undo: the run that it undid. */
            undone_run_id?: string;
            /**
             * Format: int64
             * @description Which version, from 1.
             */
            version: number;
        };
        ChangeReply: {
            /**
             * @description What was done.
             * @enum {string}
             */
            action: "keep" | "update" | "create" | "delete" | "restore" | "archive" | "strength" | "weight" | "scope" | "undo";
            /** @description Why. */
            change_reason: string;
            /** @description What it rests on: messages and words in them. */
            evidence: components["schemas"]["EvidenceReply"][];
            /** @description Names the new version. */
            new_id?: string;
            /** @description What it says now. */
            new_statement?: string;
            /** @description Names the version before. */
            old_id?: string;
            /** @description What it said before. */
            old_statement?: string;
            /** @description What is remembered. */
            statement?: string;
            /**
             * Format: int64
             * @description Which version, from 1.
             */
            version: number;
        };
        ChangesReply: {
            /** @description What changed. */
            changes: components["schemas"]["Change"][];
            /** @description The group. */
            group_id: string;
            /** @description The dates that are looked at. */
            period: string;
            /** @description true; what failed is a problem. */
            success: boolean;
        };
        Chunk: {
            /** @description The model's answer. */
            answer: string;
            /**
             * Format: int64
             * @description Which chunk of the run, from 1.
             */
            chunk_no: number;
            /** @description Of what the model was asked. */
            input_sha256: string;
            /** @description Memory versions of the chunk. */
            memory_ids?: string[];
            /** @description The messages of the chunk. */
            message_ids: string[];
            /** @description Lines of answers that were not accepted, and by which rule. */
            refusals: components["schemas"]["Refusal"][];
            /** @description How it stands. */
            status: string;
        };
        ClearReply: {
            /**
             * Format: int64
             * @description Messages that were in its short-term memory.
             */
            cleared: number;
            /** @description The group. */
            group_id: string;
            /** @description The session. */
            session_id: string;
            /** @description true; what failed is a problem. */
            success: boolean;
        };
        ContextBody: {
            /**
             * @description As of this instant of the chat: by when things were said.
             * @example 2026-01-15T12:30:00Z
             */
            at?: string;
            /**
             * Format: int64
             * @description Tokens of the text at most; 0 = as configured.
             */
            max_tokens?: number;
            /**
             * @description What the bot is asked.
             * @example when do we meet?
             */
            query?: string;
            /**
             * @description As of this instant, by when things were written; instead of at.
             * @example 2026-01-15T12:30:00Z
             */
            recorded_at?: string;
            /**
             * @deprecated
             * @description Old name of session_id.
             */
            session?: string;
            /** @description The session: its last turns are given, too. */
            session_id?: string;
        };
        ContextCounts: {
            /**
             * Format: int64
             * @description Memories near enough to be ranked.
             */
            candidates: number;
            /**
             * Format: int64
             * @description What the budget of tokens left no room for.
             */
            dropped: number;
            /**
             * Format: int64
             * @description People and things that the query names.
             */
            entities: number;
            /**
             * Format: int64
             * @description Memories that are offered.
             */
            long_term: number;
            /**
             * Format: int64
             * @description Earlier messages that are quoted.
             */
            quotes: number;
            /**
             * Format: int64
             * @description Messages that are given word for word.
             */
            short_term: number;
            /**
             * Format: int64
             * @description Messages that the summary covers.
             */
            summarized: number;
        };
        ContextEntity: {
            /** @description The entity's id. */
            entity_id: string;
            /**
             * @description What sort it is.
             * @enum {string}
             */
            kind: "person" | "bot" | "thing";
            /** @description What is said of it, strongest first. */
            lines: string[];
            /** @description The name that it goes by. */
            subject: string;
        };
        ContextMemory: {
            factors: components["schemas"]["Factors"];
            /** @description The linked group whose it is; left out for what is the group's own, or its team's. */
            from_group_id?: string;
            /**
             * @description What sort it is.
             * @enum {string}
             */
            kind: "group" | "session" | "dream" | "team";
            /**
             * Format: date-time
             * @description When something last bore it out.
             */
            last_supported_at: string;
            /** @description The line of versions that it belongs to. */
            lineage_id: string;
            /** @description Names the version. */
            memory_id: string;
            /**
             * Format: double
             * @description How well it fits.
             */
            score: number;
            /** @description What is remembered. */
            statement: string;
            /**
             * @description active, or archived: no longer current, and given only where no active memory bears on the query.
             * @enum {string}
             */
            status: "active" | "superseded" | "deprecated" | "archived" | "held";
            /** @description Tags. */
            tags: string[];
            /**
             * Format: date-time
             * @description When it changed last.
             */
            updated_at: string;
            /**
             * Format: int64
             * @description Which version, from 1.
             */
            version: number;
        };
        ContextMessage: {
            /** @description Display name of the author. */
            author: string;
            /** @description The message's id. */
            message_id: string;
            /**
             * @description Who wrote it.
             * @enum {string}
             */
            role: "user" | "assistant" | "tool";
            /**
             * Format: date-time
             * @description When it was sent.
             */
            sent_at: string;
            /** @description The text. */
            text: string;
        };
        ContextQuote: {
            /** @description Display name of the author. */
            author: string;
            /** @description The message's id. */
            message_id: string;
            /**
             * Format: double
             * @description Share of the query's words that it has, 0 to 1.
             */
            score: number;
            /**
             * Format: date-time
             * @description When it was sent.
             */
            sent_at: string;
            /** @description What was said, word for word; secrets and personal data are masked. */
            text: string;
        };
        ContextReply: {
            counts: components["schemas"]["ContextCounts"];
            /** @description People and things. */
            entities: components["schemas"]["ContextEntity"][];
            /** @description The group. */
            group_id: string;
            /**
             * Format: int64
             * @description Tokens that the text may have.
             */
            max_tokens: number;
            /** @description Memories. */
            memories: components["schemas"]["ContextMemory"][];
            /** @description What was asked. */
            query: string;
            /** @description Earlier messages from outside of the session that bear on the query, best first. */
            quotes: components["schemas"]["ContextQuote"][];
            /** @description The session. */
            session_id?: string;
            short_term?: components["schemas"]["ContextShortTerm"];
            /** @description Why no memories were looked up; left out where they were. */
            skipped?: string;
            /** @description true; what failed is a problem. */
            success: boolean;
            /** @description All of it in one piece, ready to stand in a prompt. */
            text: string;
            /**
             * Format: int64
             * @description Estimated tokens.
             */
            tokens: number;
            /** @description Names the context, to report what the answer used. */
            usage_id?: string;
            /** @description What did not go as it should have. */
            warnings?: string[];
        };
        ContextShortTerm: {
            summary?: components["schemas"]["SessionSummary"];
            /** @description The newest messages, oldest first. */
            turns: components["schemas"]["ContextMessage"][];
        };
        ConversationMessage: {
            /** @description Display name of the author. */
            author: string;
            /** @description Id of the author. */
            author_id: string;
            /**
             * Format: date-time
             * @description Since when it has this text; none: as it was sent.
             */
            edited_at?: string;
            /** @description Why no model is shown it: empty, event, command or bot. */
            filter?: string;
            /** @description The message's id, from its platform. */
            id: string;
            /** @description What was removed for its age. */
            pruned?: boolean;
            /** @description How often each emoji was given. */
            reactions?: {
                [key: string]: number;
            };
            /** @description The message that it answers. */
            reply_to?: string;
            /**
             * @description Who wrote it.
             * @enum {string}
             */
            role: "user" | "assistant" | "tool";
            /** @description The run. */
            run_id?: string;
            /**
             * Format: date-time
             * @description When it was sent.
             */
            sent_at: string;
            /** @description The session. */
            session_id?: string;
            /** @description What became of it: pending, cited, considered or filtered. */
            state: string;
            /** @description The text. */
            text: string;
        };
        Cost: {
            /**
             * Format: int64
             * @description Of input_tokens, those that the provider had in its cache.
             */
            cached_tokens: number;
            /**
             * Format: int64
             * @description Calls of models.
             */
            calls: number;
            /**
             * Format: double
             * @description US dollars.
             */
            cost_usd: number;
            /** @description A date: YYYY-MM-DD. */
            date?: string;
            /**
             * Format: int64
             * @description Of the calls: those that did not end well.
             */
            failed: number;
            /** @description The group. */
            group_id?: string;
            /**
             * Format: int64
             * @description Tokens of what models were asked.
             */
            input_tokens: number;
            /** @description The model. */
            model?: string;
            /**
             * Format: int64
             * @description Tokens of what models answered.
             */
            output_tokens: number;
            /** @description What the model was asked for. */
            purpose?: string;
            /** @description How the call was handed in: standard, flex or batch. */
            tier?: string;
        };
        CostsReply: {
            /** @description There is more than an answer holds. */
            cut?: boolean;
            /** @description By day, oldest first. */
            days: components["schemas"]["Cost"][];
            /** @description The group. */
            group_id?: string;
            /** @description By group, dearest first. */
            groups: components["schemas"]["Cost"][];
            /** @description By model. */
            models: components["schemas"]["Cost"][];
            /**
             * Format: date-time
             * @description From this instant on.
             */
            since: string;
            /** @description true; what failed is a problem. */
            success: boolean;
            total: components["schemas"]["Spend"];
            /**
             * Format: date-time
             * @description Before this instant.
             */
            until: string;
        };
        DayStats: {
            /** @description Changes by action. */
            actions?: {
                [key: string]: number;
            };
            /**
             * Format: int64
             * @description How many changes.
             */
            changes: number;
            /** @description A date: YYYY-MM-DD. */
            date: string;
        };
        Decision: {
            /** @description What was done. */
            action: string;
            /** @description What the decision rests on. */
            basis: string;
            /**
             * Format: int64
             * @description Ids of the calls that compared it.
             */
            calls: number;
            /** @description What it was compared with. */
            candidates: components["schemas"]["Candidate"][];
            /**
             * Format: int64
             * @description Which chunk of the run, from 1.
             */
            chunk_no: number;
            /** @description Of the statement. */
            content_hash: string;
            /**
             * Format: date-time
             * @description When it was made.
             */
            created_at: string;
            /**
             * Format: int64
             * @description Counts the decisions of the run, from 1.
             */
            decision_no: number;
            /** @description The group. */
            group_id: string;
            /**
             * @description What sort it is.
             * @enum {string}
             */
            kind: "group" | "session" | "dream" | "team";
            /** @description Names the version. */
            memory_id?: string;
            /** @description The model. */
            model?: string;
            /** @description Of the prompt. */
            prompt_sha256?: string;
            /** @description Of the prompt. */
            prompt_version?: string;
            /** @description Why. */
            reason: string;
            /** @description The run. */
            run_id: string;
            /** @description What is remembered. */
            statement: string;
            /** @description The id of that one. */
            target_id?: string;
            /**
             * Format: date-time
             * @description When it was undone.
             */
            undone_at?: string;
        };
        Detail: {
            /** @description Where: such as query.limit or body.strength. */
            location?: string;
            /** @description What there is to say. */
            message: string;
        };
        DiffCounts: {
            /**
             * Format: int64
             * @description Memories that were not active at the first instant.
             */
            added: number;
            /**
             * Format: int64
             * @description Memories that say something else, or bear other tags.
             */
            changed: number;
            /**
             * Format: int64
             * @description Memories that were not active at the second instant.
             */
            gone: number;
            /**
             * Format: int64
             * @description Memories that came and went in between, or changed and changed back.
             */
            passing: number;
            /**
             * Format: int64
             * @description Memories that say at both instants the same.
             */
            unchanged: number;
        };
        DiffEntry: {
            after?: components["schemas"]["DiffVersion"];
            /** @description It had been remembered before the first instant. */
            back?: boolean;
            before?: components["schemas"]["DiffVersion"];
            /**
             * @description What sort it is.
             * @enum {string}
             */
            kind: "group" | "session" | "dream" | "team";
            /** @description The line of versions that it belongs to. */
            lineage_id: string;
            /** @description How the statement became another one, word by word: [-gone-]{+new+}. */
            marked?: string;
            /** @description What became of it in between, oldest first. */
            steps: components["schemas"]["DiffStep"][];
        };
        DiffReply: {
            /** @description Memories that were not active at the first instant. */
            added: components["schemas"]["DiffEntry"][];
            /** @description Memories that say something else, or bear other tags. */
            changed: components["schemas"]["DiffEntry"][];
            counts: components["schemas"]["DiffCounts"];
            /** @description There is more than an answer holds. */
            cut?: boolean;
            /**
             * Format: date-time
             * @description The first instant.
             */
            from: string;
            /** @description Memories that were not active at the second instant. */
            gone: components["schemas"]["DiffEntry"][];
            /** @description The group. */
            group_id: string;
            /** @description Memories that came and went in between, or changed and changed back. */
            passing?: components["schemas"]["DiffEntry"][];
            /** @description true; what failed is a problem. */
            success: boolean;
            /**
             * Format: date-time
             * @description The second instant.
             */
            to: string;
        };
        DiffStep: {
            /**
             * @description What was done.
             * @enum {string}
             */
            action: "keep" | "update" | "create" | "delete" | "restore" | "archive" | "strength" | "weight" | "scope" | "undo";
            /**
             * Format: date-time
             * @description When.
             */
            at: string;
            /** @description Why. */
            change_reason?: string;
            /** @description What kind of work the run did, or the one that was undone. */
            job?: string;
            /** @description Names the version. */
            memory_id: string;
            /** @description The run that did it; left out where a person did. */
            run_id?: string;
            /** @description Of an undo: the run that it undid. */
            undone_run_id?: string;
            /**
             * Format: int64
             * @description Which version, from 1.
             */
            version: number;
        };
        DiffVersion: {
            /** @description Names the version. */
            memory_id: string;
            /** @description What is remembered. */
            statement: string;
            /** @description Tags. */
            tags: string[];
            /**
             * Format: int64
             * @description Which version, from 1.
             */
            version: number;
        };
        DreamCounts: {
            /**
             * Format: int64
             * @description Questions that the material was put in.
             */
            batches: number;
            /**
             * Format: int64
             * @description Calls of models.
             */
            calls: number;
            /**
             * Format: int64
             * @description Memory versions that were new.
             */
            memories: number;
            /**
             * Format: int64
             * @description Sessions.
             */
            sessions: number;
        };
        DreamItem: {
            /** @description Display name of the author. */
            author?: string;
            /**
             * Format: date-time
             * @description When its lineage was born.
             */
            created_at: string;
            /** @description A todo that has been closed. */
            done?: boolean;
            /**
             * Format: date-time
             * @description Of a plan: its last day, at midnight UTC.
             */
            due_on?: string;
            /**
             * Format: int64
             * @description Messages that it rests on.
             */
            evidence: number;
            /** @description Why the next run of evolve judges it again; a memory that is held comes back or ends by that. */
            judge_again?: string;
            /**
             * @description What sort it is.
             * @enum {string}
             */
            kind: "group" | "session" | "dream" | "team";
            /**
             * Format: date-time
             * @description When something last bore it out.
             */
            last_supported_at: string;
            /** @description The line of versions that it belongs to. */
            lineage_id: string;
            /** @description Names the version. */
            memory_id: string;
            /** @description person where somebody wrote it by hand, else model. */
            origin: string;
            /** @description Names the version before; null of the first. */
            parent_id: string | null;
            /**
             * Format: date-time
             * @description When the chat said it.
             */
            said_at: string;
            /** @description How far it reaches: group, or person; left out where nobody has said. */
            scope?: string;
            /** @description The session. */
            session_id?: string;
            /** @description Memories that it rests on. */
            sources: components["schemas"]["SourceMemory"][];
            /** @description What is remembered. */
            statement: string;
            /**
             * @description How it stands.
             * @enum {string}
             */
            status: "active" | "superseded" | "deprecated" | "archived" | "held";
            /**
             * Format: double
             * @description How well supported it is, 0 to 1.
             */
            strength: number;
            /** @description Tags. */
            tags: string[];
            /** @description Which sort of item; left out of the narrative. */
            type?: string;
            /**
             * Format: date-time
             * @description When this version was made.
             */
            updated_at: string;
            /**
             * Format: int64
             * @description Which version, from 1.
             */
            version: number;
            /**
             * Format: double
             * @description How useful it proved when recalled, 0 to 2; 1 at first.
             */
            weight: number;
        };
        DreamPage: {
            /**
             * Format: date-time
             * @description When the last dream ended.
             */
            dream_time?: string;
            /** @description The group. */
            group_id: string;
            /** @description Dreams that wait for a person. */
            held_runs?: string[];
            /** @description Preferences, themes and open threads. */
            items: components["schemas"]["DreamItem"][];
            material?: components["schemas"]["DreamCounts"];
            /** @description What there is to say. */
            message?: string;
            /** @description Of the last dream; null where there is none. */
            narrative: components["schemas"]["DreamItem"] | null;
            /** @description The run. */
            run_id?: string;
            /**
             * @description How it stands.
             * @enum {string}
             */
            status?: "running" | "succeeded" | "held" | "deferred" | "failed" | "rejected";
            /** @description true; what failed is a problem. */
            success: boolean;
            /** @description The session that the dream reaches up to. */
            through_session?: string;
        };
        EditMemoryBody: {
            /**
             * @description The date of a plan; none takes it away.
             * @example 2026-01-15
             */
            due_on?: string;
            /**
             * @description Why: it is kept with the change.
             * @example Ann asked for it.
             */
            reason: string;
            /**
             * @description How far it reaches, in a request of its own: no further than its group, or to the groups in which its person is linked.
             * @enum {string}
             */
            scope?: "group" | "person";
            /**
             * @description What it is to say; left out, it says what it says.
             * @example The group meets on Sundays.
             */
            statement?: string;
            /** @description Its tags, in place of those that it has. */
            tags?: string[];
            /**
             * @description What kind of thing it says; a new memory is a fact.
             * @enum {string}
             */
            type?: "fact" | "habit" | "opinion" | "rule" | "plan" | "culture";
        };
        EditMessageBody: {
            /**
             * Format: date-time
             * @description When it was edited; now where it is not given. An older text than the stored one changes nothing.
             * @example 2026-01-15T12:35:00Z
             */
            edited_at?: string;
            /**
             * @description What the message says now.
             * @example See you on Sunday
             */
            text: string;
        };
        EntitiesReply: {
            /** @description People and things. */
            entities: components["schemas"]["EntityReply"][];
            /** @description The group. */
            group_id: string;
            /** @description true; what failed is a problem. */
            success: boolean;
            /**
             * Format: int64
             * @description Rows of all pages.
             */
            total: number;
        };
        EntityChangeReply: {
            /** @description What was done to the entity. */
            action: string;
            /** @description The change's id. */
            change_id: string;
            /** @description Why. */
            change_reason: string;
            /** @description Names the version of what is said. */
            claim_id?: string;
            /** @description The entity's id. */
            entity_id: string;
            /** @description What it rests on: messages and words in them. */
            evidence: components["schemas"]["Evidence"][];
            /** @description What it says now. */
            new_text?: string;
            /** @description What it said before. */
            old_text?: string;
            /** @description The entity merged into, or out of. */
            other_id?: string;
            /** @description The run. */
            run_id: string | null;
            /** @description The name that it goes by. */
            subject?: string;
            /**
             * Format: date-time
             * @description When.
             */
            timestamp: string;
            /** @description Of an undo: the run that it undid. */
            undone_run_id?: string;
        };
        EntityLink: {
            /**
             * Format: date-time
             * @description When it was made.
             */
            created_at: string;
            /** @description The entity's id. */
            entity_id: string;
            /** @description The group. */
            group_id: string;
            /** @description Both had an account of the same id. */
            proved: boolean;
            /** @description Why. */
            reason?: string;
        };
        EntityReply: {
            /** @description Author ids of its platform. */
            accounts: string[];
            /** @description Other names, without the subject. */
            aliases: string[];
            /**
             * Format: date-time
             * @description When it was made.
             */
            created_at: string;
            /** @description The entity's id. */
            entity_id: string;
            /** @description Attributes. */
            features: components["schemas"]["FeatureReply"][];
            /** @description The group. */
            group_id: string;
            /** @description Sentences about it. */
            impressions: components["schemas"]["ImpressionReply"][];
            /**
             * @description What sort it is.
             * @enum {string}
             */
            kind: "person" | "bot" | "thing";
            /** @description Who the entity is in other groups, as far as the token sees them. */
            links?: components["schemas"]["EntityLink"][];
            /** @description Those that a person said are this one. */
            merged: string[];
            /** @description The one that it is part of. */
            merged_into?: string;
            /** @description How it stands to others. */
            relations: components["schemas"]["RelationReply"][];
            /**
             * @description How it stands.
             * @enum {string}
             */
            status: "active" | "merged" | "withdrawn";
            /** @description The name that it goes by. */
            subject: string;
            /**
             * Format: date-time
             * @description When it changed last.
             */
            updated_at: string;
            /**
             * Format: int64
             * @description Which version, from 1.
             */
            version: number;
        };
        ErasureLeft: {
            /**
             * Format: int64
             * @description How many.
             */
            rows: number;
            /** @description Where something stays. */
            what: string;
            /** @description Why it stays. */
            why: string;
        };
        Evidence: {
            /** @description Display name of the author. */
            author: string;
            /** @description Id of the author. */
            author_id?: string;
            /** @description The date of the group's calendar. */
            local_date?: string;
            /** @description The message's id. */
            message_id: string;
            /** @description Words that stand in the message. */
            quote: string;
            /**
             * Format: date-time
             * @description When it was sent.
             */
            sent_at?: string;
        };
        EvidenceReply: {
            /** @description Display name of the author. */
            author: string;
            /** @description The message's id. */
            message_id: string;
            /** @description Words that stand in the message. */
            quote: string;
        };
        EvolveReply: {
            /** @description What changed. */
            changes: components["schemas"]["ChangeReply"][];
            /** @description Nothing was written. */
            dry_run?: boolean;
            /** @description Why it failed. */
            error?: string;
            /**
             * Format: date-time
             * @description When it was applied.
             */
            evolution_time?: string;
            /** @description The group. */
            group_id: string;
            /** @description What there is to say. */
            message?: string;
            messages?: components["schemas"]["MessageStats"];
            /** @description Lines of answers that were not accepted, and by which rule. */
            refusals?: components["schemas"]["Refusal"][];
            /** @description The run. */
            run_id?: string;
            stats: components["schemas"]["EvolveStats"];
            /**
             * @description How it stands.
             * @enum {string}
             */
            status?: "running" | "succeeded" | "held" | "deferred" | "failed" | "rejected";
            /** @description true; what failed is a problem. */
            success: boolean;
            /** @description What did not go as it should have. */
            warnings?: string[];
        };
        EvolveStats: {
            /**
             * Format: int64
             * @description Memories that were archived.
             */
            archived?: number;
            /**
             * Format: int64
             * @description Memories that were created.
             */
            created: number;
            /**
             * Format: int64
             * @description Memories that were deleted.
             */
            deleted: number;
            /**
             * Format: int64
             * @description What is pending review.
             */
            held: number;
            /**
             * Format: int64
             * @description Memories that stayed as they were.
             */
            kept: number;
            /**
             * Format: int64
             * @description Lines that were not accepted.
             */
            refused: number;
            /**
             * Format: int64
             * @description Memories that got a new version.
             */
            updated: number;
        };
        Factors: {
            /**
             * Format: double
             * @description 0 to 1, by when it was last supported.
             */
            recency: number;
            /**
             * Format: double
             * @description To the query, calibrated, 0 to 1.
             */
            similarity: number;
            /**
             * Format: double
             * @description How well supported it is, 0 to 1.
             */
            strength: number;
            /**
             * Format: double
             * @description How useful it proved when recalled, 0 to 2; 1 at first.
             */
            weight: number;
        };
        FeatureReply: {
            /** @description Names the version of what is said. */
            claim_id: string;
            /**
             * Format: double
             * @description How sure the observation was, 0 to 1.
             */
            confidence: number;
            /** @description What it rests on: messages and words in them. */
            evidence: components["schemas"]["Evidence"][];
            /** @description What the attribute is. */
            key: string;
            /**
             * Format: date-time
             * @description When something last bore it out.
             */
            last_supported_at: string;
            /** @description Author ids of who said so. */
            said_by: string[];
            /** @description Its own words. */
            self: boolean;
            /**
             * Format: double
             * @description How well supported it is, 0 to 1.
             */
            strength: number;
            /** @description What it is. */
            value: string;
            /**
             * Format: int64
             * @description Which version, from 1.
             */
            version: number;
        };
        FeedbackBody: {
            /**
             * @description What the bot answered.
             * @example We meet on Friday at eight.
             */
            response: string;
            /** @description Its newest context, where usage_id is not known. */
            session_id?: string;
            /** @description Of the context that was given. */
            usage_id?: string;
        };
        FeedbackMemory: {
            /** @description Names the version. */
            memory_id: string;
            /**
             * Format: double
             * @description How surely the answer used it, 0 to 1.
             */
            reference_score: number;
            /** @description What is remembered. */
            statement: string;
            /** @description The answer used it. */
            was_referenced: boolean;
            /**
             * Format: double
             * @description How useful it proved when recalled, 0 to 2; 1 at first.
             */
            weight: number;
        };
        FeedbackReply: {
            /** @description The group. */
            group_id: string;
            /** @description It was reported before: nothing has moved. */
            known?: boolean;
            /** @description Memories. */
            memories: components["schemas"]["FeedbackMemory"][];
            /** @description What there is to say. */
            message?: string;
            /**
             * Format: int64
             * @description Memories that were offered.
             */
            offered: number;
            /**
             * Format: int64
             * @description How often the answer used it.
             */
            referenced: number;
            /** @description The session. */
            session_id?: string;
            /** @description true; what failed is a problem. */
            success: boolean;
            /** @description Names the context, to report what the answer used. */
            usage_id?: string;
            /** @description What did not go as it should have. */
            warnings?: string[];
        };
        ForgetBody: {
            /** @description Do it, count, and take it back. */
            dry_run?: boolean;
            /** @description Names that stay in the words of others, such as Will. */
            keep_names?: string[];
        };
        ForgetReply: {
            /** @description Rows in which something was taken out, by table. */
            changed: {
                [key: string]: number;
            };
            /**
             * Format: date-time
             * @description When it was made.
             */
            created_at: string;
            /** @description Rows that were deleted, by table. */
            deleted: {
                [key: string]: number;
            };
            /** @description Nothing was written. */
            dry_run?: boolean;
            /**
             * Format: int64
             * @description Memories that are gone in all versions.
             */
            erased: number;
            /** @description The receipt's id; none where nothing was there, and of a dry run. */
            erasure_id?: string;
            /** @description The group. */
            group_id: string;
            /**
             * Format: int64
             * @description Memories that are not recalled until they have been judged again without the author.
             */
            held: number;
            /** @description What stays on purpose. */
            left: components["schemas"]["ErasureLeft"][];
            /**
             * Format: int64
             * @description Messages of the author that were deleted.
             */
            messages: number;
            /**
             * Format: int64
             * @description Values that the final check has read.
             */
            searched: number;
            /** @description true; what failed is a problem. */
            success: boolean;
            /**
             * Format: int64
             * @description A team's memories that were made of such.
             */
            team: number;
        };
        GroupReply: {
            /**
             * Format: int64
             * @description Active memories.
             */
            active: number;
            /** @description The local time at which its dates begin: HH:MM. */
            day_boundary: string;
            /** @description After which silence of a session it dreams; empty = as configured. */
            dream_idle: string;
            /** @description At least so long after its last dream; empty = as configured. */
            dream_interval: string;
            /** @description After so many sessions it dreams; empty = as configured. */
            dream_sessions: string;
            /** @description The group. */
            group_id: string;
            /** @description Whether people and things are followed here: on, off, or empty = as configured. */
            impressions: string;
            /** @description zh, en, or empty = by its messages. */
            language: string;
            last_run?: components["schemas"]["Run"];
            /** @description What people call it. */
            name: string;
            /**
             * Format: date-time
             * @description When the oldest pending message was sent.
             */
            oldest_pending?: string;
            /** @description A person has paused it. */
            paused: boolean;
            /**
             * Format: int64
             * @description Messages that wait for a run.
             */
            pending: number;
            /** @description on where no other group reads of it, or off; empty = on while the accounts of two people at most are known in it. */
            private: string;
            /** @description After which silence a session ends; empty = as configured. */
            session_silence: string;
            /** @description Jobs that fail here, and since when. */
            setbacks?: components["schemas"]["Setback"][];
            /** @description How it stands. */
            state: string;
            /** @description The team whose memories searches and contexts of it include: a name, off, or empty = as configured. */
            team: string;
            /** @description IANA name; empty = UTC. */
            time_zone: string;
        };
        GroupsReply: {
            /** @description Groups. */
            groups: components["schemas"]["GroupReply"][];
            /** @description To go on after; left out where there are no more. */
            next?: string;
            /** @description true; what failed is a problem. */
            success: boolean;
        };
        GroupStatsReply: {
            /**
             * Format: int64
             * @description Active memories.
             */
            active: number;
            /**
             * Format: int64
             * @description Active memories that weigh 1.5 or more.
             */
            core: number;
            /** @description By day, oldest first. */
            days: components["schemas"]["DayStats"][];
            /**
             * Format: int64
             * @description Active memories of strength 0.5 or more.
             */
            established: number;
            /** @description The group. */
            group_id?: string;
            /**
             * Format: int64
             * @description Groups.
             */
            groups: number;
            /** @description By kind of memory. */
            kinds: components["schemas"]["KindStats"][];
            /**
             * Format: int64
             * @description Memories, each with one version or more.
             */
            lineages: number;
            /** @description Active memories that answers used most. */
            most_used: components["schemas"]["MemoryUsageStats"][];
            /**
             * Format: date-time
             * @description When the newest active version was made.
             */
            newest: string | null;
            /**
             * Format: date-time
             * @description When the oldest active memory was born.
             */
            oldest: string | null;
            /**
             * Format: int64
             * @description Sessions.
             */
            sessions: number;
            /** @description Active memories by tenths of strength. */
            strength: number[];
            /** @description true; what failed is a problem. */
            success: boolean;
            /**
             * Format: int64
             * @description Active memories that sum a session up.
             */
            summaries: number;
            /**
             * Format: int64
             * @description Active memories of a strength below 0.5.
             */
            tentative: number;
            usage: components["schemas"]["UsageStats"];
            vectors: components["schemas"]["VectorStats"];
            /**
             * Format: int64
             * @description Versions.
             */
            versions: number;
            /** @description Active memories by tenths of weight. */
            weight: number[];
        };
        Head: {
            /** @description Names the version. */
            memory_id: string;
            /**
             * Format: int64
             * @description Which version, from 1.
             */
            version: number;
        };
        HeldReply: {
            /**
             * Format: int64
             * @description Which chunk of the run, from 1.
             */
            chunk_no: number;
            /** @description Why. */
            reason: string;
            /** @description How it stands. */
            status: string;
            /** @description What would be applied. */
            steps: components["schemas"]["Step"][];
            /** @description The whole plan of the chunk is held. */
            whole: boolean;
        };
        HistoryEntry: {
            /** @description Display name of the author. */
            author?: string;
            /** @description Why this version was made. */
            change_summary?: string;
            /**
             * Format: date-time
             * @description When it was made.
             */
            created_at?: string;
            /** @description Why the next run of evolve judges it again; a memory that is held comes back or ends by that. */
            judge_again?: string;
            /** @description Names the version. */
            memory_id: string;
            /** @description Names the version before; null of the first. */
            parent_id: string | null;
            /**
             * Format: date-time
             * @description When the chat said it.
             */
            said_at: string;
            /** @description What is remembered. */
            statement: string;
            /**
             * @description How it stands.
             * @enum {string}
             */
            status: "active" | "superseded" | "deprecated" | "archived" | "held";
            /**
             * Format: date-time
             * @description When it changed last.
             */
            updated_at?: string;
            /**
             * Format: int64
             * @description Which version, from 1.
             */
            version: number;
        };
        HistoryReply: {
            /**
             * Format: int64
             * @description The newest version.
             */
            current_version: number;
            /** @description There is more than an answer holds. */
            cut?: boolean;
            /** @description The versions, oldest first. */
            history: components["schemas"]["HistoryEntry"][];
            /** @description Names the version. */
            memory_id: string;
            /** @description true; what failed is a problem. */
            success: boolean;
        };
        ImpressionReply: {
            /** @description Names the version of what is said. */
            claim_id: string;
            /**
             * Format: double
             * @description How sure the observation was, 0 to 1.
             */
            confidence: number;
            /** @description What it rests on: messages and words in them. */
            evidence: components["schemas"]["Evidence"][];
            /**
             * Format: date-time
             * @description When something last bore it out.
             */
            last_supported_at: string;
            /** @description Author ids of who said so. */
            said_by: string[];
            /** @description Its own words. */
            self: boolean;
            /**
             * Format: double
             * @description How well supported it is, 0 to 1.
             */
            strength: number;
            /** @description The text. */
            text: string;
            /**
             * Format: int64
             * @description Which version, from 1.
             */
            version: number;
        };
        KindStats: {
            /**
             * Format: int64
             * @description Active memories.
             */
            active: number;
            /**
             * Format: int64
             * @description Memories that were archived.
             */
            archived: number;
            /**
             * Format: int64
             * @description Memories that were deleted.
             */
            deleted: number;
            /**
             * Format: int64
             * @description What is pending review.
             */
            held: number;
            /**
             * @description What sort it is.
             * @enum {string}
             */
            kind: "group" | "session" | "dream" | "team";
            /**
             * Format: int64
             * @description Versions.
             */
            versions: number;
        };
        LinkBody: {
            /**
             * @description The entity's id there.
             * @example 0197f3a0-2b3c-7d4e-8f5a-6b7c8d9e0f1b
             */
            entity_id: string;
            /**
             * @description The other group's id.
             * @example telegram-chat2
             */
            group_id: string;
        };
        LinksReply: {
            /** @description The entity's id. */
            entity_id: string;
            /** @description The group. */
            group_id: string;
            /** @description Who the entity is in other groups, as far as the token sees them. */
            links: components["schemas"]["EntityLink"][];
            /** @description true; what failed is a problem. */
            success: boolean;
        };
        ListReply: {
            /** @description The group. */
            group_id: string;
            /** @description Memories. */
            memories: components["schemas"]["Memory"][];
            /** @description true; what failed is a problem. */
            success: boolean;
            /**
             * Format: int64
             * @description Rows of all pages.
             */
            total: number;
        };
        Memory: {
            /** @description The person who wrote this version; left out where a job did. */
            author?: string;
            /**
             * Format: date-time
             * @description When its lineage was born.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description Of a plan: its last day, at midnight UTC.
             */
            due_on?: string;
            /** @description Why the next run of evolve judges it again; a memory that is held comes back or ends by that. */
            judge_again?: string;
            /**
             * @description What sort it is.
             * @enum {string}
             */
            kind: "group" | "session" | "dream" | "team";
            /**
             * Format: date-time
             * @description When something last bore it out.
             */
            last_supported_at: string;
            /** @description The line of versions that it belongs to. */
            lineage_id: string;
            /** @description Names the version. */
            memory_id: string;
            /** @description person where somebody wrote it by hand, else model. */
            origin: string;
            /** @description Names the version before; null of the first. */
            parent_id: string | null;
            /**
             * Format: date-time
             * @description When the chat said it.
             */
            said_at: string;
            /** @description How far it reaches: group, or person; left out where nobody has said. */
            scope?: string;
            /** @description The session. */
            session_id?: string;
            /** @description What is remembered. */
            statement: string;
            /**
             * @description How it stands.
             * @enum {string}
             */
            status: "active" | "superseded" | "deprecated" | "archived" | "held";
            /**
             * Format: double
             * @description How well supported it is, 0 to 1.
             */
            strength: number;
            /** @description Tags. */
            tags: string[];
            /** @description Which sort of item; left out of the narrative. */
            type: string;
            /**
             * Format: date-time
             * @description When this version was made.
             */
            updated_at: string;
            /**
             * Format: int64
             * @description Which version, from 1.
             */
            version: number;
            /**
             * Format: double
             * @description How useful it proved when recalled, 0 to 2; 1 at first.
             */
            weight: number;
        };
        MemoryReply: {
            /** @description Display name of the author. */
            author?: string;
            /**
             * Format: date-time
             * @description When its lineage was born.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description Of a plan: its last day, at midnight UTC.
             */
            due_on?: string;
            /** @description Why the next run of evolve judges it again; a memory that is held comes back or ends by that. */
            judge_again?: string;
            /**
             * @description What sort it is.
             * @enum {string}
             */
            kind: "group" | "session" | "dream" | "team";
            /**
             * Format: date-time
             * @description When something last bore it out.
             */
            last_supported_at: string;
            /** @description The line of versions that it belongs to. */
            lineage_id: string;
            /** @description Names the version. */
            memory_id: string;
            /** @description person where somebody wrote it by hand, else model. */
            origin: string;
            /** @description Names the version before; null of the first. */
            parent_id: string | null;
            /**
             * Format: date-time
             * @description When the chat said it.
             */
            said_at: string;
            /** @description How far it reaches: group, or person; left out where nobody has said. */
            scope?: string;
            /** @description The session. */
            session_id?: string;
            /** @description What is remembered. */
            statement: string;
            /**
             * @description How it stands.
             * @enum {string}
             */
            status: "active" | "superseded" | "deprecated" | "archived" | "held";
            /**
             * Format: double
             * @description How well supported it is, 0 to 1.
             */
            strength: number;
            /** @description true; what failed is a problem. */
            success: boolean;
            /** @description Tags. */
            tags: string[];
            /** @description Which sort of item; left out of the narrative. */
            type: string;
            /**
             * Format: date-time
             * @description When this version was made.
             */
            updated_at: string;
            /**
             * Format: int64
             * @description Which version, from 1.
             */
            version: number;
            /**
             * Format: double
             * @description How useful it proved when recalled, 0 to 2; 1 at first.
             */
            weight: number;
        };
        MemoryUsageStats: {
            /** @description The group. */
            group_id: string;
            /** @description Names the version. */
            memory_id: string;
            /**
             * Format: int64
             * @description In how many contexts it was offered.
             */
            offered: number;
            /**
             * Format: int64
             * @description How often the answer used it.
             */
            referenced: number;
            /** @description What is remembered. */
            statement: string;
        };
        MessageChanged: {
            /**
             * Format: int64
             * @description 1: the message is gone, and does not come in again.
             */
            deleted?: number;
            /**
             * Format: int64
             * @description 1: it has a newer text.
             */
            edited?: number;
            /** @description The group. */
            group_id: string;
            /** @description The message's id. */
            id: string;
            /**
             * Format: int64
             * @description 1: it has other reactions now.
             */
            reacted?: number;
            /**
             * Format: int64
             * @description 1: it stood so already, or the message is gone.
             */
            same?: number;
            /** @description true; what failed is a problem. */
            success: boolean;
            /**
             * Format: int64
             * @description 1: it is done when the group's run has ended.
             */
            waiting?: number;
        };
        MessagesAdded: {
            /** @description Lines that were not taken, the first ones. */
            bad?: components["schemas"]["BadLine"][];
            /**
             * Format: int64
             * @description Lines that were not taken.
             */
            bad_count: number;
            /**
             * Format: int64
             * @description Of the known ones: those whose text is another one now. The stored text stays.
             */
            changed?: number;
            /**
             * Format: int64
             * @description Memories that were deleted.
             */
            deleted?: number;
            /**
             * Format: int64
             * @description A person has changed it before.
             */
            edited?: number;
            /**
             * Format: int64
             * @description Messages that were erased with their author (`reverie erase`), and do not come in again.
             */
            erased?: number;
            /** @description Messages that no model is shown, by reason. */
            filtered?: {
                [key: string]: number;
            };
            /** @description The group. */
            group_id: string;
            /**
             * Format: int64
             * @description Messages that were stored already, and stayed as they were.
             */
            known: number;
            /**
             * Format: int64
             * @description Messages that were stored.
             */
            new: number;
            /**
             * Format: int64
             * @description Messages that have other reactions now.
             */
            reacted?: number;
            /**
             * Format: int64
             * @description Changes that were known already, or came to a message that is gone.
             */
            same?: number;
            /**
             * Format: int64
             * @description Messages that had the id of another one in this body, and are kept under one of their own.
             */
            same_id?: number;
            /** @description Every line was stored, known, or erased before. */
            success: boolean;
            /**
             * Format: int64
             * @description Of the changes: done when the message has come, or the group's run has ended.
             */
            waiting?: number;
        };
        MessagesReply: {
            /** @description The group. */
            group_id: string;
            /** @description Messages, oldest first. */
            messages: components["schemas"]["ConversationMessage"][];
            /** @description There are newer ones. */
            newer?: boolean;
            /** @description There are older ones. */
            older?: boolean;
            /** @description true; what failed is a problem. */
            success: boolean;
        };
        MessageStats: {
            /**
             * Format: int64
             * @description Messages that something rests on.
             */
            cited: number;
            /**
             * Format: int64
             * @description Messages that were shown to the model, and not cited.
             */
            considered: number;
            /**
             * Format: int64
             * @description Messages that are still pending.
             */
            deferred: number;
            /**
             * Format: int64
             * @description Messages that no model is shown.
             */
            filtered: number;
        };
        Night: {
            /**
             * Format: int64
             * @description Memories that were archived.
             */
            archived: number;
            /** @description What changed. */
            changes: components["schemas"]["Change"][];
            /** @description A date: YYYY-MM-DD. */
            date: string;
            /** @description Runs, newest first. */
            runs: components["schemas"]["RunEntry"][];
            /**
             * Format: date-time
             * @description From this instant on.
             */
            since: string;
            stats: components["schemas"]["Stats"];
            /**
             * Format: date-time
             * @description Before this instant.
             */
            until: string;
        };
        NightsReply: {
            /** @description There is more than an answer holds. */
            cut?: boolean;
            /** @description The group. */
            group_id: string;
            /** @description There are older ones. */
            more?: boolean;
            /** @description To go on after; left out where there are no more. */
            next?: string;
            /** @description Nights, newest first. */
            nights: components["schemas"]["Night"][];
            /** @description true; what failed is a problem. */
            success: boolean;
        };
        OneEntityReply: {
            /** @description Author ids of its platform. */
            accounts: string[];
            /** @description Other names, without the subject. */
            aliases: string[];
            /**
             * Format: date-time
             * @description When it was made.
             */
            created_at: string;
            /** @description The entity's id. */
            entity_id: string;
            /** @description Attributes. */
            features: components["schemas"]["FeatureReply"][];
            /** @description The group. */
            group_id: string;
            /** @description Sentences about it. */
            impressions: components["schemas"]["ImpressionReply"][];
            /**
             * @description What sort it is.
             * @enum {string}
             */
            kind: "person" | "bot" | "thing";
            /** @description Who the entity is in other groups, as far as the token sees them. */
            links?: components["schemas"]["EntityLink"][];
            /** @description Those that a person said are this one. */
            merged: string[];
            /** @description The one that it is part of. */
            merged_into?: string;
            /** @description How it stands to others. */
            relations: components["schemas"]["RelationReply"][];
            /**
             * @description How it stands.
             * @enum {string}
             */
            status: "active" | "merged" | "withdrawn";
            /** @description The name that it goes by. */
            subject: string;
            /** @description true; what failed is a problem. */
            success: boolean;
            /**
             * Format: date-time
             * @description When it changed last.
             */
            updated_at: string;
            /**
             * Format: int64
             * @description Which version, from 1.
             */
            version: number;
        };
        OneGroupReply: {
            /**
             * Format: int64
             * @description Active memories.
             */
            active: number;
            /** @description The local time at which its dates begin: HH:MM. */
            day_boundary: string;
            /** @description After which silence of a session it dreams; empty = as configured. */
            dream_idle: string;
            /** @description At least so long after its last dream; empty = as configured. */
            dream_interval: string;
            /** @description After so many sessions it dreams; empty = as configured. */
            dream_sessions: string;
            /** @description The group. */
            group_id: string;
            /** @description Whether people and things are followed here: on, off, or empty = as configured. */
            impressions: string;
            /** @description zh, en, or empty = by its messages. */
            language: string;
            last_run?: components["schemas"]["Run"];
            /** @description What people call it. */
            name: string;
            /**
             * Format: date-time
             * @description When the oldest pending message was sent.
             */
            oldest_pending?: string;
            /** @description A person has paused it. */
            paused: boolean;
            /**
             * Format: int64
             * @description Messages that wait for a run.
             */
            pending: number;
            /** @description on where no other group reads of it, or off; empty = on while the accounts of two people at most are known in it. */
            private: string;
            /** @description After which silence a session ends; empty = as configured. */
            session_silence: string;
            /** @description Jobs that fail here, and since when. */
            setbacks?: components["schemas"]["Setback"][];
            /** @description How it stands. */
            state: string;
            /** @description true; what failed is a problem. */
            success: boolean;
            /** @description The team whose memories searches and contexts of it include: a name, off, or empty = as configured. */
            team: string;
            /** @description IANA name; empty = UTC. */
            time_zone: string;
        };
        Origin: {
            /** @description What the deployment is called. */
            deployment: string;
            /** @description The job that made it; left out for a person's. */
            job?: string;
            /** @description And its line there. */
            lineage_id: string;
            /**
             * Format: date-time
             * @description When the version was made.
             */
            made_at: string;
            /** @description Names the version there. */
            memory_id: string;
            /**
             * Format: int64
             * @description How many messages it rests on.
             */
            messages: number;
            /** @description The model. */
            model?: string;
            /** @description Of the prompt. */
            prompt_version?: string;
            /**
             * Format: int64
             * @description Which version there, from 1.
             */
            version: number;
        };
        Problem: {
            current?: components["schemas"]["TeamMemory"];
            /** @description What happened, to what, and what to do next. */
            detail: string;
            /** @description Each thing that is wrong with the request, the first ones. */
            errors?: components["schemas"]["Detail"][];
            /** @description What was found that may not be kept, the first ones. */
            findings?: components["schemas"]["ScanFinding"][];
            /** @description Of a write to an old version: the memory_id of its lineage's head. */
            head_id?: string;
            /**
             * Format: int64
             * @description Of a write to an old version: the version of its lineage's head.
             */
            head_version?: number;
            /** @description The id of the request, as in its answer's X-Request-Id. */
            instance?: string;
            /**
             * Format: int64
             * @description The HTTP status.
             */
            status: number;
            /** @description What the status says. */
            title: string;
            /** @description about:blank: the status says what kind of problem it is. */
            type: string;
        };
        ProposalBody: {
            /**
             * @description What is to be done.
             * @enum {string}
             */
            action: "create" | "update" | "delete";
            /** @description Messages that say so. */
            evidence?: components["schemas"]["ProposalEvidence"][];
            /** @description The head that is to be updated or deleted. */
            memory_id?: string;
            /**
             * @description Why.
             * @example Ann said so twice.
             */
            reason: string;
            /**
             * @description What is to be remembered (create, update).
             * @example The group meets on Fridays.
             */
            statement?: string;
        };
        ProposalEvidence: {
            /** @description A message of the group. */
            message_id: string;
            /** @description Words that stand in it. */
            quote?: string;
        };
        ProposalReply: {
            /** @description The group. */
            group_id: string;
            /** @description What there is to say. */
            message: string;
            /** @description The run. */
            run_id: string;
            /**
             * @description How it stands.
             * @enum {string}
             */
            status: "running" | "succeeded" | "held" | "deferred" | "failed" | "rejected";
            /** @description true; what failed is a problem. */
            success: boolean;
        };
        ReasonBody: {
            /** @description Why: it is kept with the change. */
            reason?: string;
        };
        RecallCandidate: {
            factors: components["schemas"]["Factors"];
            /** @description Its outcome: offered, or why not. */
            fate: string;
            /** @description The linked group whose it is; left out for what is the group's own, or its team's. */
            from_group_id?: string;
            /**
             * @description What sort it is.
             * @enum {string}
             */
            kind: "group" | "session" | "dream" | "team";
            /**
             * Format: date-time
             * @description When something last bore it out.
             */
            last_supported_at: string;
            /** @description The line of versions that it belongs to. */
            lineage_id: string;
            /** @description Names the version. */
            memory_id: string;
            /**
             * Format: double
             * @description How well it fits.
             */
            score: number;
            /** @description What is remembered. */
            statement: string;
            /**
             * @description active, or archived: no longer current, and given only where no active memory bears on the query.
             * @enum {string}
             */
            status: "active" | "superseded" | "deprecated" | "archived" | "held";
            /** @description Tags. */
            tags: string[];
            /**
             * Format: date-time
             * @description When it changed last.
             */
            updated_at: string;
            /**
             * Format: int64
             * @description Which version, from 1.
             */
            version: number;
            /**
             * Format: double
             * @description The statement in pieces, each with the version that brought it.
             */
            words: number;
        };
        Recalled: {
            /** @description Every memory that was looked at, best first. */
            candidates: components["schemas"]["RecallCandidate"][];
            counts: components["schemas"]["ContextCounts"];
            /** @description People and things. */
            entities: components["schemas"]["ContextEntity"][];
            /** @description The group. */
            group_id: string;
            /**
             * Format: int64
             * @description Tokens that the text may have.
             */
            max_tokens: number;
            /** @description Memories. */
            memories: components["schemas"]["ContextMemory"][];
            /**
             * Format: double
             * @description Least similarity of a memory that is offered.
             */
            min_similarity: number;
            /** @description What was asked. */
            query: string;
            /** @description Earlier messages from outside of the session that bear on the query, best first. */
            quotes: components["schemas"]["ContextQuote"][];
            /** @description The session. */
            session_id?: string;
            short_term?: components["schemas"]["ContextShortTerm"];
            /** @description Why no memories were looked up; left out where they were. */
            skipped?: string;
            /** @description true; what failed is a problem. */
            success: boolean;
            /** @description The text. */
            text: string;
            /**
             * Format: int64
             * @description Estimated tokens.
             */
            tokens: number;
            /** @description What decides whether memories are looked up. */
            trigger: string;
            /** @description Names the context, to report what the answer used. */
            usage_id?: string;
            /** @description What did not go as it should have. */
            warnings?: string[];
        };
        Refusal: {
            /** @description What the line would have done. */
            action?: string;
            /** @description What happened, to what, and what to do next. */
            detail: string;
            /** @description As the model named the memory. */
            handle?: string;
            /**
             * Format: int64
             * @description Which line, from 1.
             */
            line: number;
            /** @description The rule that refused it. */
            rule: string;
        };
        RejectBody: {
            /** @description Make its messages pending again. */
            requeue?: boolean;
        };
        RejectReply: {
            /**
             * Format: int64
             * @description Messages, or memories of dreams, that are pending again.
             */
            requeued: number;
            /** @description The run. */
            run_id: string;
            /** @description true; what failed is a problem. */
            success: boolean;
        };
        RelationReply: {
            /** @description Names the version of what is said. */
            claim_id: string;
            /**
             * Format: double
             * @description How sure the observation was, 0 to 1.
             */
            confidence: number;
            /** @description What it rests on: messages and words in them. */
            evidence: components["schemas"]["Evidence"][];
            /** @description What sort it is. */
            kind: string;
            /**
             * Format: date-time
             * @description When something last bore it out.
             */
            last_supported_at: string;
            /** @description Author ids of who said so. */
            said_by: string[];
            /** @description Its own words. */
            self: boolean;
            /**
             * Format: double
             * @description How well supported it is, 0 to 1.
             */
            strength: number;
            /** @description Whom or what, as it was named. */
            target: string;
            /** @description The id of that one. */
            target_id: string | null;
            /**
             * Format: int64
             * @description Which version, from 1.
             */
            version: number;
        };
        ReplayBody: {
            /**
             * @description An instant, a date, or the id of an event.
             * @example 2026-01-15T12:30:00Z
             */
            from: string;
        };
        Resting: {
            /** @description Why the next run of evolve judges it again. */
            judge_again?: string;
            /**
             * @description What sort it is.
             * @enum {string}
             */
            kind: "group" | "session" | "dream" | "team";
            /** @description The line of versions that it belongs to. */
            lineage_id: string;
            /** @description Names the version. */
            memory_id: string;
            /** @description What is remembered. */
            statement: string;
        };
        Run: {
            /**
             * Format: int64
             * @description Which attempt at the same job and window, from 1.
             */
            attempt: number;
            /** @description Why it failed. */
            error?: string;
            /**
             * Format: date-time
             * @description When it ended; null while it runs.
             */
            finished_at: string | null;
            /** @description The group. */
            group_id: string;
            /** @description What it did: evolve, dream, extract, impression, maintain or propose. */
            job: string;
            /** @description The model. */
            model: string;
            /** @description Of the prompt. */
            prompt_sha256: string;
            /** @description Of the prompt. */
            prompt_version: string;
            /** @description The run. */
            run_id: string;
            /** @description The session. */
            session_id?: string;
            /**
             * Format: date-time
             * @description When it began.
             */
            started_at: string;
            stats: components["schemas"]["Stats"];
            /**
             * @description How it stands.
             * @enum {string}
             */
            status: "running" | "succeeded" | "held" | "deferred" | "failed" | "rejected";
            /**
             * Format: date-time
             * @description When it was undone.
             */
            undone_at?: string;
            /**
             * Format: date-time
             * @description From this instant on.
             */
            window_since: string;
            /**
             * Format: date-time
             * @description Before this instant.
             */
            window_until: string;
        };
        RunEntry: {
            /**
             * Format: int64
             * @description Which attempt at the same job and window, from 1.
             */
            attempt: number;
            /** @description Why it failed. */
            error?: string;
            /**
             * Format: date-time
             * @description When it ended; null while it runs.
             */
            finished_at: string | null;
            /** @description The group. */
            group_id: string;
            /** @description What it did: evolve, dream, extract, impression, maintain or propose. */
            job: string;
            /** @description The model. */
            model: string;
            /** @description Of the prompt. */
            prompt_sha256: string;
            /** @description Of the prompt. */
            prompt_version: string;
            /** @description The run. */
            run_id: string;
            /** @description The session. */
            session_id?: string;
            spend: components["schemas"]["Spend"];
            /**
             * Format: date-time
             * @description When it began.
             */
            started_at: string;
            stats: components["schemas"]["Stats"];
            /**
             * @description How it stands.
             * @enum {string}
             */
            status: "running" | "succeeded" | "held" | "deferred" | "failed" | "rejected";
            /**
             * Format: date-time
             * @description When it was undone.
             */
            undone_at?: string;
            /**
             * Format: date-time
             * @description From this instant on.
             */
            window_since: string;
            /**
             * Format: date-time
             * @description Before this instant.
             */
            window_until: string;
        };
        RunningReply: {
            /** @description The group. */
            group_id: string;
            /** @description Where it has come that far. */
            run_id?: string;
            /**
             * @description How it stands.
             * @enum {string}
             */
            status: "running" | "succeeded" | "held" | "deferred" | "failed" | "rejected";
            /** @description true; what failed is a problem. */
            success: boolean;
        };
        RunReply: {
            /** @description Calls of models, in order. */
            calls: components["schemas"]["Call"][];
            /** @description What changed. */
            changes: components["schemas"]["ChangeReply"][];
            /** @description The chunks of the run, in order. */
            chunks: components["schemas"]["Chunk"][];
            /** @description There is more than an answer holds. */
            cut?: boolean;
            /** @description Decisions on the facts that the run would create. */
            decisions: components["schemas"]["Decision"][];
            /** @description What a run changed about people and things. */
            entities?: components["schemas"]["EntityChangeReply"][];
            /** @description What is pending review. */
            held: components["schemas"]["HeldReply"][];
            run: components["schemas"]["Run"];
            setback?: components["schemas"]["Setback"];
            spend: components["schemas"]["Spend"];
            /** @description true; what failed is a problem. */
            success: boolean;
        };
        RunsReply: {
            /** @description There are older ones. */
            more?: boolean;
            /** @description Runs, newest first. */
            runs: components["schemas"]["RunEntry"][];
            /** @description true; what failed is a problem. */
            success: boolean;
        };
        ScanFinding: {
            /** @description secret, pii, or statement: what else no statement may hold. */
            class: string;
            /** @description A few words around it, with the rule in its place. */
            excerpt: string;
            /** @description The rule that refused it. */
            rule: string;
            /** @description The field that it stands in. */
            where?: string;
        };
        SearchReply: {
            /** @description What there is to say. */
            message?: string;
            /** @description What was asked. */
            query: string;
            /** @description What was found, best first. */
            results: components["schemas"]["SearchResult"][];
            /** @description true; what failed is a problem. */
            success: boolean;
            /** @description What did not go as it should have. */
            warnings?: string[];
        };
        SearchResult: {
            /** @description The linked group whose it is; left out for what is the group's own, or its team's. */
            from_group_id?: string;
            /**
             * @description What sort it is.
             * @enum {string}
             */
            kind: "group" | "session" | "dream" | "team";
            /** @description Names the version. */
            memory_id: string;
            /** @description Whether the score reaches 0.7, where related texts begin for every embedding model. */
            related: boolean;
            /**
             * Format: double
             * @description How much it bears on the query, by meaning and by words, 0 to 1.
             */
            score: number;
            /** @description What is remembered. */
            statement: string;
            /**
             * @description active, or archived: no longer current, and behind all active ones.
             * @enum {string}
             */
            status: "active" | "superseded" | "deprecated" | "archived" | "held";
            /**
             * Format: date-time
             * @description When this version was made.
             */
            updated_at: string;
            /**
             * Format: int64
             * @description Which version, from 1.
             */
            version: number;
        };
        SessionSummary: {
            /**
             * Format: date-time
             * @description When the first message that it covers was sent.
             */
            covers_since: string;
            /**
             * Format: date-time
             * @description When the last message that it covers was sent.
             */
            covers_until: string;
            /**
             * Format: date-time
             * @description When it was made.
             */
            created_at: string;
            /** @description The first message that it covers. */
            first_message_id: string;
            /** @description The group. */
            group_id: string;
            /** @description The last message that it covers. */
            last_message_id: string;
            /**
             * Format: int64
             * @description How many messages it covers.
             */
            messages: number;
            /** @description The run. */
            run_id: string;
            /** @description The session. */
            session_id: string;
            /** @description The text. */
            summary: string;
            /**
             * Format: int64
             * @description Estimated tokens.
             */
            tokens: number;
            /**
             * Format: int64
             * @description Turns.
             */
            turns: number;
            /**
             * Format: date-time
             * @description When it changed last.
             */
            updated_at: string;
        };
        Setback: {
            /** @description Why it failed. */
            error: string;
            /**
             * Format: int64
             * @description How many times in a row.
             */
            failures: number;
            /** @description What it did: evolve, dream, extract, impression, maintain or propose. */
            job: string;
            /**
             * Format: date-time
             * @description Since when the job waits for a person.
             */
            parked_at?: string;
            /**
             * Format: date-time
             * @description When it is tried again.
             */
            retry_at: string;
            /** @description The session. */
            session_id?: string;
            /**
             * Format: date-time
             * @description When it changed last.
             */
            updated_at?: string;
        };
        ShowReply: {
            /** @description There is more than an answer holds. */
            cut?: boolean;
            /** @description What it rests on: messages and words in them. */
            evidence: components["schemas"]["Evidence"][];
            /** @description The group. */
            group_id: string;
            /** @description The versions, oldest first. */
            history: components["schemas"]["HistoryEntry"][];
            memory: components["schemas"]["Memory"];
            /** @description Memories that it rests on. */
            sources: components["schemas"]["SourceMemory"][];
            /** @description true; what failed is a problem. */
            success: boolean;
            usage: components["schemas"]["UsageCount"];
        };
        Source: {
            /** @description The line of versions that it belongs to. */
            lineage_id: string;
            /** @description Names the version. */
            memory_id: string;
        };
        SourceMemory: {
            /** @description Its memory still says so. */
            active: boolean;
            /**
             * Format: date-time
             * @description When its newest evidence was said.
             */
            at: string;
            /**
             * @description What sort it is.
             * @enum {string}
             */
            kind: "group" | "session" | "dream" | "team";
            /** @description The line of versions that it belongs to. */
            lineage_id: string;
            /** @description Names the version. */
            memory_id: string;
            /** @description What its memory says by now, where that is otherwise. */
            now?: string;
            /** @description The session. */
            session_id?: string;
            /** @description What is remembered. */
            statement: string;
            /** @description It sums its session up. */
            summary?: boolean;
        };
        Spend: {
            /**
             * Format: int64
             * @description Of input_tokens, those that the provider had in its cache.
             */
            cached_tokens: number;
            /**
             * Format: int64
             * @description Calls of models.
             */
            calls: number;
            /**
             * Format: double
             * @description US dollars.
             */
            cost_usd: number;
            /**
             * Format: int64
             * @description Tokens of what models were asked.
             */
            input_tokens: number;
            /**
             * Format: int64
             * @description Tokens of what models answered.
             */
            output_tokens: number;
        };
        Stats: {
            /**
             * Format: int64
             * @description It was held, and a person let it pass.
             */
            approved?: number;
            /**
             * Format: int64
             * @description Memories that were archived.
             */
            archived?: number;
            /**
             * Format: int64
             * @description Questions of a dream in all.
             */
            asked?: number;
            /**
             * Format: int64
             * @description Active memories when the run began.
             */
            base: number;
            /**
             * Format: int64
             * @description Questions that the material was put in.
             */
            batches?: number;
            /**
             * Format: int64
             * @description Chunks.
             */
            chunks: number;
            /**
             * Format: int64
             * @description Messages that something rests on.
             */
            cited: number;
            /**
             * Format: int64
             * @description Todos among those rewritten that a dream has closed.
             */
            closed?: number;
            /**
             * Format: int64
             * @description Questions asked to compare facts with memories.
             */
            compared?: number;
            /**
             * Format: int64
             * @description Messages that were shown to the model, and not cited.
             */
            considered: number;
            /**
             * Format: int64
             * @description Memories that were created.
             */
            created: number;
            /**
             * Format: int64
             * @description Messages of which only the beginning was read, for their length.
             */
            cut?: number;
            /**
             * Format: int64
             * @description Of how many days earlier messages were shown to the model as context.
             */
            days?: number;
            /**
             * Format: int64
             * @description Messages that are still pending.
             */
            deferred: number;
            /**
             * Format: int64
             * @description Memories that were deleted.
             */
            deleted: number;
            /** @description A person has changed it before. */
            edited?: boolean;
            /**
             * Format: int64
             * @description Messages that no model is shown.
             */
            filtered: number;
            /**
             * Format: int64
             * @description Messages that a rolling summary covers now.
             */
            folded?: number;
            /**
             * Format: int64
             * @description What is pending review.
             */
            held: number;
            /**
             * Format: int64
             * @description Memories that stayed as they were.
             */
            kept: number;
            /**
             * Format: int64
             * @description Messages that a chunk of the run may have by now.
             */
            limit?: number;
            /**
             * Format: int64
             * @description Memory versions that a dream took in.
             */
            material?: number;
            /** @description The window's end came from the clock. */
            open_ended?: boolean;
            /** @description The hash of the plan in hand that it applied. */
            plan?: string;
            /**
             * Format: int64
             * @description Observations that wait to be sure whom they are about.
             */
            postponed?: number;
            /**
             * Format: int64
             * @description What was removed for its age.
             */
            pruned?: number;
            /**
             * Format: int64
             * @description Lines that were not accepted.
             */
            refused: number;
            /**
             * Format: int64
             * @description Active memories that the run has deleted or rewritten.
             */
            rewritten: number;
            /**
             * Format: int64
             * @description Sessions.
             */
            sessions?: number;
            /** @description All has been taken that was to be. */
            through?: boolean;
            /** @description Nothing of the session was answered when the run began. */
            unanswered?: boolean;
            /**
             * Format: int64
             * @description Memories that got a new version.
             */
            updated: number;
        };
        Step: {
            /**
             * @description What was done.
             * @enum {string}
             */
            action: "keep" | "update" | "create" | "delete" | "restore" | "archive" | "strength" | "weight" | "scope" | "undo";
            /** @description Of the statement. */
            content_hash?: string;
            /**
             * Format: date-time
             * @description Of a plan: its last day, at midnight UTC.
             */
            due_on?: string;
            /** @description What it rests on: messages and words in them. */
            evidence?: components["schemas"]["Evidence"][];
            head?: components["schemas"]["Head"];
            /**
             * @description Of a memory that was to be judged again, what it is after this: active or held.
             * @enum {string}
             */
            judged?: "active" | "superseded" | "deprecated" | "archived" | "held";
            /**
             * Format: date-time
             * @description When something last bore it out.
             */
            last_supported_at?: string;
            /** @description The line of versions that it belongs to. */
            lineage_id: string;
            /** @description Names the version. */
            memory_id?: string;
            /** @description What it said before. */
            old_statement?: string;
            /** @description Why. */
            reason?: string;
            /** @description The lineage that is deleted for it. */
            replaces?: string;
            /** @description The memory was archived, and comes back by it. */
            returns?: boolean;
            /** @description The session. */
            session_id?: string;
            /** @description Memories that it rests on. */
            sources?: components["schemas"]["Source"][];
            /** @description What is remembered. */
            statement?: string;
            /**
             * Format: double
             * @description How well supported it is, 0 to 1.
             */
            strength?: number;
            /** @description Tags. */
            tags?: string[];
            /** @description Which sort of item; left out of the narrative. */
            type?: string;
        };
        StrengthBody: {
            /** @description Why: it is kept with the change. */
            reason?: string;
            /**
             * Format: double
             * @description How well supported it is; from 0.5 it is established.
             * @example 0.8
             */
            strength: number;
        };
        TeamBody: {
            /** @description Why: it is kept with the change. */
            change_reason?: string;
            /**
             * Format: date-time
             * @description When its lineage was born, where it is new here.
             */
            created_at?: string;
            /** @description What it rests on; dropped unless [team] quotes is on here. */
            evidence?: components["schemas"]["Evidence"][];
            /** @description As in the address. */
            id?: string;
            /** @description Where the version was made; here, where it is left out. */
            origin?: components["schemas"]["Origin"];
            /**
             * @description What is to be remembered, at most 500 characters.
             * @example The team releases on Thursdays.
             */
            statement: string;
            /**
             * @description active, or deprecated to delete it.
             * @enum {string}
             */
            status?: "active" | "superseded" | "deprecated" | "archived" | "held";
            /**
             * Format: double
             * @description How well supported it is, 0 to 1.
             * @default 0.5
             */
            strength?: number;
            /** @description Tags; what no tag can be is left out. */
            tags?: string[];
            /**
             * Format: date-time
             * @description When this version was made there.
             */
            updated_at?: string;
            /**
             * Format: int64
             * @description Not looked at.
             */
            version?: number;
            /** @description Not looked at. */
            version_id?: string;
            /** @description Which there were before it, oldest first. */
            versions?: components["schemas"]["TeamVersion"][];
        };
        TeamMemories: {
            /** @description Memories. */
            memories: components["schemas"]["TeamMemory"][];
            /** @description To go on after; left out where there are no more. */
            next?: string;
            /** @description The team's name. */
            team: string;
        };
        TeamMemory: {
            /** @description Why. */
            change_reason: string;
            /**
             * Format: date-time
             * @description When its lineage was born.
             */
            created_at: string;
            /** @description What it rests on, where the deployment tells. */
            evidence?: components["schemas"]["Evidence"][];
            /** @description Of its lineage: the same in every deployment. */
            id: string;
            origin: components["schemas"]["Origin"];
            /** @description What is remembered. */
            statement: string;
            /**
             * @description How it stands.
             * @enum {string}
             */
            status: "active" | "superseded" | "deprecated" | "archived" | "held";
            /**
             * Format: double
             * @description How well supported it is, 0 to 1.
             */
            strength: number;
            /** @description Tags. */
            tags: string[];
            /**
             * Format: date-time
             * @description When this version was made here.
             */
            updated_at: string;
            /**
             * Format: int64
             * @description Which version here, from 1.
             */
            version: number;
            /** @description Names the version; in quotes it is the ETag. */
            version_id: string;
            /** @description Which were made before it, oldest first, without their words. */
            versions: components["schemas"]["TeamVersion"][];
        };
        TeamVersion: {
            /** @description What the deployment is called. */
            deployment: string;
            /**
             * Format: date-time
             * @description When it was made.
             */
            updated_at: string;
            /**
             * Format: int64
             * @description Which version there, from 1.
             */
            version: number;
            /** @description Names the version where it was made. */
            version_id: string;
        };
        UndoBody: {
            /** @description The before_sha256 of a dry run: where something else is active by now, the answer is a 409. */
            before_sha256?: string;
            /** @description Say what it would come to, and write nothing. */
            dry_run?: boolean;
            /** @description Put back what others have changed since, too. */
            force?: boolean;
            /** @description Why: it is kept with the changes. */
            reason?: string;
            /** @description Let what the run has read wait to be read again. */
            requeue?: boolean;
        };
        UndoLeft: {
            /** @description The person or thing that it is, or is said of. */
            entity_id?: string;
            /** @description The newest version. */
            memory_id?: string;
            /** @description Why. */
            reason: string;
            /** @description What it says, or what the person or thing is called. */
            statement: string;
        };
        Undone: {
            /** @description Hash of what is active afterwards: lineage, statement, status and tags of each memory. */
            after_sha256: string;
            /** @description The same, of what was active before it was undone. */
            before_sha256: string;
            /**
             * Format: date-time
             * @description When the run began.
             */
            began_at: string;
            /** @description What became of memories; of a dry run, what would. */
            changes: components["schemas"]["Change"][];
            /** @description There are more changes, or more that is left, than an answer holds. */
            cut?: boolean;
            /**
             * Format: int64
             * @description Memories that the run had made, and that end.
             */
            deprecated: number;
            /**
             * Format: int64
             * @description People and things that the run had made, or had learnt something of.
             */
            entities: number;
            /** @description The group remembers again exactly what it did before the run. */
            exact: boolean;
            /** @description What kind of work the run did. */
            job: string;
            /** @description What is not what it was before the run, and why. */
            left: components["schemas"]["UndoLeft"][];
            /** @description The run has left nothing to undo. */
            nothing: boolean;
            /**
             * Format: int64
             * @description Memories that the run did not touch, and that others have made, changed or ended since it began to write.
             */
            others: number;
            /**
             * Format: int64
             * @description Plans that waited for a person.
             */
            rejected: number;
            /**
             * Format: int64
             * @description Messages, or memories of a dream, that wait to be read again.
             */
            requeued: number;
            /**
             * Format: int64
             * @description Memories that say again what they said before.
             */
            restored: number;
            /** @description The run. */
            run_id: string;
            /**
             * Format: date-time
             * @description When it was undone.
             */
            undone_at?: string;
            /** @description The same, of what was active before the run began to write. */
            was_sha256: string;
            /**
             * Format: int64
             * @description Memories whose text stays, and whose strength goes back.
             */
            weakened: number;
        };
        UndoReply: {
            /** @description Nothing was written. */
            dry_run: boolean;
            /** @description Why it failed. */
            error?: string;
            /** @description The group. */
            group_id: string;
            /** @description What became of each run. */
            runs: components["schemas"]["Undone"][];
            /** @description true; what failed is a problem. */
            success: boolean;
        };
        UsageCount: {
            /**
             * Format: int64
             * @description How often the answer did not use it.
             */
            ignored: number;
            /**
             * Format: date-time
             * @description When it was offered last.
             */
            last_offered_at?: string;
            /**
             * Format: int64
             * @description In how many contexts it was offered.
             */
            offered: number;
            /**
             * Format: int64
             * @description How often the answer used it.
             */
            referenced: number;
        };
        UsageStats: {
            /**
             * Format: int64
             * @description How often the answer did not use it.
             */
            ignored: number;
            /**
             * Format: int64
             * @description Active memories that were never offered.
             */
            never: number;
            /**
             * Format: int64
             * @description In how many contexts it was offered.
             */
            offered: number;
            /**
             * Format: int64
             * @description How often the answer used it.
             */
            referenced: number;
        };
        VectorStats: {
            /**
             * Format: int64
             * @description Active memories without a vector.
             */
            missing: number;
            /** @description By model. */
            models: {
                [key: string]: number;
            };
            /**
             * Format: int64
             * @description Active memories that can be searched.
             */
            present: number;
        };
        Webhook: {
            /**
             * Format: date-time
             * @description When it was made.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description Since when it is sent nothing.
             */
            disabled_at?: string;
            /** @description Types of events that it is sent; none for all. */
            events: string[];
            /**
             * Format: date-time
             * @description When it began to fail.
             */
            failing_since?: string;
            /**
             * Format: int64
             * @description Attempts that have failed in a row.
             */
            failures: number;
            /** @description The group whose events it is sent; empty for all. */
            group_id: string;
            /** @description Why it failed last. */
            last_error?: string;
            /**
             * Format: date-time
             * @description When the oldest event was made that waits for it.
             */
            oldest_at?: string;
            /** @description Whether bodies repeat what memories say. */
            statements: boolean;
            /** @description Where events are posted to. */
            url: string;
            /**
             * Format: int64
             * @description Events that wait for it.
             */
            waiting: number;
            /** @description The webhook's id. */
            webhook_id: string;
        };
        WebhookReplayReply: {
            /**
             * Format: int64
             * @description Events that are sent again.
             */
            events: number;
            /** @description true; what failed is a problem. */
            success: boolean;
            /** @description The webhook's id. */
            webhook_id: string;
        };
        WebhookReply: {
            /**
             * Format: date-time
             * @description When it was made.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description Since when it is sent nothing.
             */
            disabled_at?: string;
            /** @description Types of events that it is sent; none for all. */
            events: string[];
            /**
             * Format: date-time
             * @description When it began to fail.
             */
            failing_since?: string;
            /**
             * Format: int64
             * @description Attempts that have failed in a row.
             */
            failures: number;
            /** @description The group whose events it is sent; empty for all. */
            group_id: string;
            /** @description Why it failed last. */
            last_error?: string;
            /**
             * Format: date-time
             * @description When the oldest event was made that waits for it.
             */
            oldest_at?: string;
            /** @description What requests are signed with. It is not shown again. */
            secret?: string;
            /** @description Whether bodies repeat what memories say. */
            statements: boolean;
            /** @description true; what failed is a problem. */
            success: boolean;
            /** @description Where events are posted to. */
            url: string;
            /**
             * Format: int64
             * @description Events that wait for it.
             */
            waiting: number;
            /** @description The webhook's id. */
            webhook_id: string;
        };
        WebhooksReply: {
            /** @description true; what failed is a problem. */
            success: boolean;
            /** @description Webhooks, the oldest first. */
            webhooks: components["schemas"]["Webhook"][];
        };
        WebhookTestReply: {
            /** @description Why it failed. */
            error?: string;
            /**
             * Format: int64
             * @description What it answered; left out where it did not.
             */
            http_status?: number;
            /** @description Whether it answered 2xx. */
            success: boolean;
            /** @description The webhook's id. */
            webhook_id: string;
        };
        WhyLater: {
            /**
             * @description What was done.
             * @enum {string}
             */
            action: "keep" | "update" | "create" | "delete" | "restore" | "archive" | "strength" | "weight" | "scope" | "undo";
            /** @description It was held, and a person let it pass. */
            approved?: boolean;
            /**
             * Format: date-time
             * @description When.
             */
            at: string;
            /** @description Why. */
            change_reason?: string;
            /** @description What it rests on: messages and words in them. */
            evidence?: components["schemas"]["Evidence"][];
            /** @description The run. */
            run_id?: string;
            /** @description Of an undo: the run that it undid. */
            undone_run_id?: string;
        };
        WhyReply: {
            /** @description There is more than an answer holds. */
            cut?: boolean;
            /** @description The group. */
            group_id: string;
            memory: components["schemas"]["Memory"];
            /** @description Active memories that were made of it: they are judged again where it changes. */
            resting: components["schemas"]["Resting"][];
            /**
             * Format: date-time
             * @description From this instant on.
             */
            since: string;
            /** @description true; what failed is a problem. */
            success: boolean;
            usage: components["schemas"]["UsageCount"];
            /** @description The versions, and what stands behind each. */
            versions: components["schemas"]["WhyVersion"][];
        };
        WhyVersion: {
            /**
             * @description What was done.
             * @enum {string}
             */
            action: "keep" | "update" | "create" | "delete" | "restore" | "archive" | "strength" | "weight" | "scope" | "undo";
            /** @description It was held, and a person let it pass. */
            approved?: boolean;
            /** @description Why. */
            change_reason: string;
            /**
             * Format: int64
             * @description Which chunk of the run, from 1.
             */
            chunk_no?: number;
            /** @description Decisions on the facts that the run would create. */
            decisions: components["schemas"]["Decision"][];
            /** @description What it rests on: messages and words in them. */
            evidence: components["schemas"]["Evidence"][];
            /** @description Later changes of the version. */
            later: components["schemas"]["WhyLater"][];
            memory: components["schemas"]["Memory"];
            run?: components["schemas"]["Run"];
            /** @description Memories that it rests on. */
            sources?: components["schemas"]["SourceMemory"][];
            /** @description Of an undo: the run that it undid. */
            undone_run_id?: string;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    "add-memory": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The group's id, percent-encoded: it may hold slashes and anything else. */
                group_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AddMemoryBody"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MemoryReply"];
                };
            };
        };
    };
    "get-memory": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Any version of the memory: it stands for its lineage. */
                memory_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ShowReply"];
                };
            };
        };
    };
    "delete-memory": {
        parameters: {
            query?: {
                /** @description Why: it is kept with the change. */
                reason?: string;
            };
            header?: never;
            path: {
                /** @description Any version of the memory: it stands for its lineage. */
                memory_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MemoryReply"];
                };
            };
        };
    };
    "edit-memory": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Any version of the memory: it stands for its lineage. */
                memory_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EditMemoryBody"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MemoryReply"];
                };
            };
        };
    };
    "restore-memory": {
        parameters: {
            query?: {
                /** @description Why: it is kept with the change. */
                reason?: string;
            };
            header?: never;
            path: {
                /** @description Any version of the memory: it stands for its lineage. */
                memory_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ReasonBody"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MemoryReply"];
                };
            };
        };
    };
    "set-memory-strength": {
        parameters: {
            query?: {
                /** @description Why, where the body does not say. */
                reason?: string;
            };
            header?: never;
            path: {
                /** @description Any version of the memory: it stands for its lineage. */
                memory_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["StrengthBody"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MemoryReply"];
                };
            };
        };
    };
    "list-changes": {
        parameters: {
            query?: {
                /** @description How many days back. */
                days?: number;
            };
            header?: never;
            path: {
                /** @description The group's id, percent-encoded: it may hold slashes and anything else. */
                group_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangesReply"];
                };
            };
        };
    };
    "evolve-group": {
        parameters: {
            query?: {
                /** @description Show the model this many days of consumed messages, too. */
                days?: number;
            };
            header?: never;
            path: {
                /** @description The group's id, percent-encoded: it may hold slashes and anything else. */
                group_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What it did */
            200: {
                headers: {
                    Location?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EvolveReply"];
                };
            };
            /** @description It goes on: look at the run */
            202: {
                headers: {
                    /** @description The run */
                    Location?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunningReply"];
                };
            };
        };
    };
    "get-memory-history": {
        parameters: {
            query?: {
                /** @description As of this instant of the chat: by when things were said. */
                at?: string;
                /** @description As of this instant, by when things were written; instead of at. */
                recorded_at?: string;
            };
            header?: never;
            path: {
                /** @description Any version of the memory: it stands for its lineage. */
                memory_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HistoryReply"];
                };
            };
        };
    };
    "list-memories": {
        parameters: {
            query?: {
                /** @description As of this instant of the chat: by when things were said. */
                at?: string;
                /** @description Only memories of this kind. */
                kind?: "group" | "session" | "dream" | "team";
                /** @description Rows at most. */
                limit?: number;
                /** @description Rows to skip. */
                offset?: number;
                /** @description As of this instant, by when things were written; instead of at. */
                recorded_at?: string;
                /** @description Old name of session_id. */
                session?: string;
                /** @description Only what is of this session. */
                session_id?: string;
                /** @description Which versions; of an instant, those that were active then. */
                status?: "active" | "superseded" | "deprecated" | "archived" | "held" | "all";
                /** @description Only what bears this tag. */
                tag?: string;
            };
            header?: never;
            path: {
                /** @description The group's id, percent-encoded: it may hold slashes and anything else. */
                group_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListReply"];
                };
            };
        };
    };
    "search-memories": {
        parameters: {
            query: {
                /** @description As of this instant of the chat: by when things were said. */
                at?: string;
                /** @description Only memories of this kind. */
                kind?: "group" | "session" | "dream" | "team";
                /** @description Results at most. */
                limit?: number;
                /** @description What to look for. */
                q: string;
                /** @description As of this instant, by when things were written; instead of at. */
                recorded_at?: string;
                /** @description Least score, 0 to 1. Without one it is 0.7, where related texts begin; and where no memory reaches that, the nearest three come with related false. */
                threshold?: number;
            };
            header?: never;
            path: {
                /** @description The group's id, percent-encoded: it may hold slashes and anything else. */
                group_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SearchReply"];
                };
            };
        };
    };
    "get-costs": {
        parameters: {
            query?: {
                /** @description Only what was spent for this group. */
                group?: string;
                /** @description Rows at most, of each part. */
                limit?: number;
                /** @description From this instant on; 30 days ago where it is not given. */
                since?: string;
                /** @description Before this instant; now where it is not given. */
                until?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CostsReply"];
                };
            };
        };
    };
    "get-dream": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The group's id, percent-encoded: it may hold slashes and anything else. */
                group_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DreamPage"];
                };
            };
        };
    };
    "list-entities": {
        parameters: {
            query?: {
                /** @description Only entities of this kind. */
                kind?: "person" | "bot" | "thing";
                /** @description Rows at most. */
                limit?: number;
                /** @description Part of a name. */
                name?: string;
                /** @description Rows to skip. */
                offset?: number;
            };
            header?: never;
            path: {
                /** @description The group's id, percent-encoded: it may hold slashes and anything else. */
                group_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EntitiesReply"];
                };
            };
        };
    };
    "get-entity": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The entity's id. */
                entity_id: string;
                /** @description The group's id, percent-encoded: it may hold slashes and anything else. */
                group_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OneEntityReply"];
                };
            };
        };
    };
    "list-groups": {
        parameters: {
            query?: {
                /** @description Only groups after this id: the next of the page before. */
                after?: string;
                /** @description Groups at most. */
                limit?: number;
                /** @description Only groups whose id or name has this in it, in large or small letters. */
                name?: string;
                /** @description Only groups in this state. */
                state?: "active" | "paused" | "parked";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GroupsReply"];
                };
            };
        };
    };
    "get-group": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The group's id, percent-encoded: it may hold slashes and anything else. */
                group_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OneGroupReply"];
                };
            };
        };
    };
    "forget-author": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The account's id on its platform, percent-encoded. */
                author_id: string;
                /** @description The group's id, percent-encoded: it may hold slashes and anything else. */
                group_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ForgetBody"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ForgetReply"];
                };
            };
        };
    };
    "get-author-memories": {
        parameters: {
            query?: {
                /** @description Rows at most. */
                limit?: number;
                /** @description Rows to skip. */
                offset?: number;
            };
            header?: never;
            path: {
                /** @description The account's id on its platform, percent-encoded. */
                author_id: string;
                /** @description The group's id, percent-encoded: it may hold slashes and anything else. */
                group_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuthorMemoriesReply"];
                };
            };
        };
    };
    "get-context": {
        parameters: {
            query?: {
                /** @description As of this instant of the chat: by when things were said. */
                at?: string;
                /** @description Tokens of the text at most; 0 = as configured. */
                max_tokens?: number;
                /** @description What the bot is asked. */
                query?: string;
                /** @description As of this instant, by when things were written; instead of at. */
                recorded_at?: string;
                /** @description Old name of session_id. */
                session?: string;
                /** @description Only what is of this session. */
                session_id?: string;
            };
            header?: never;
            path: {
                /** @description The group's id, percent-encoded: it may hold slashes and anything else. */
                group_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ContextReply"];
                };
            };
        };
    };
    "make-context": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The group's id, percent-encoded: it may hold slashes and anything else. */
                group_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ContextBody"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ContextReply"];
                };
            };
        };
    };
    "get-memory-diff": {
        parameters: {
            query: {
                /** @description What was active at this instant is compared. */
                from: string;
                /** @description Only memories of this kind. */
                kind?: "group" | "session" | "dream" | "team";
                /** @description List what came and went in between, too. */
                passing?: boolean;
                /** @description Compare by when things were written, and not by when they were said. */
                recorded?: boolean;
                /** @description With what was active at this one; now, unless it says otherwise. */
                to?: string;
            };
            header?: never;
            path: {
                /** @description The group's id, percent-encoded: it may hold slashes and anything else. */
                group_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DiffReply"];
                };
            };
        };
    };
    "link-entity": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The entity's id. */
                entity_id: string;
                /** @description The group's id, percent-encoded: it may hold slashes and anything else. */
                group_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LinkBody"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LinksReply"];
                };
            };
        };
    };
    "unlink-entity": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The entity's id. */
                entity_id: string;
                /** @description The group's id, percent-encoded: it may hold slashes and anything else. */
                group_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LinkBody"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LinksReply"];
                };
            };
        };
    };
    "explain-context": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The group's id, percent-encoded: it may hold slashes and anything else. */
                group_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ContextBody"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Recalled"];
                };
            };
        };
    };
    "give-feedback": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The group's id, percent-encoded: it may hold slashes and anything else. */
                group_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["FeedbackBody"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FeedbackReply"];
                };
            };
        };
    };
    "list-messages": {
        parameters: {
            query?: {
                /** @description A message id: only newer ones, the oldest of them first. */
                after?: string;
                /** @description A message id: it, and what was said before and after it. */
                around?: string;
                /** @description A message id: only older ones. */
                before?: string;
                /** @description Messages at most. */
                limit?: number;
                /** @description Old name of session_id. */
                session?: string;
                /** @description Only what is of this session. */
                session_id?: string;
            };
            header?: never;
            path: {
                /** @description The group's id, percent-encoded: it may hold slashes and anything else. */
                group_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessagesReply"];
                };
            };
        };
    };
    "add-messages": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The group's id, percent-encoded: it may hold slashes and anything else. */
                group_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /** @example {"id":"m1","author":"Ann","text":"See you on Friday","sent_at":"2026-01-15T12:30:00Z"} */
                "application/x-ndjson": string;
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessagesAdded"];
                };
            };
        };
    };
    "delete-message": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The group's id, percent-encoded: it may hold slashes and anything else. */
                group_id: string;
                /** @description The message's id, percent-encoded. */
                message_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessageChanged"];
                };
            };
        };
    };
    "edit-message": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The group's id, percent-encoded: it may hold slashes and anything else. */
                group_id: string;
                /** @description The message's id, percent-encoded. */
                message_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EditMessageBody"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessageChanged"];
                };
            };
        };
    };
    "list-nights": {
        parameters: {
            query?: {
                /** @description Only nights before this date. */
                before?: string;
                /** @description Nights at most. */
                limit?: number;
            };
            header?: never;
            path: {
                /** @description The group's id, percent-encoded: it may hold slashes and anything else. */
                group_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NightsReply"];
                };
            };
        };
    };
    "propose-memory": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The group's id, percent-encoded: it may hold slashes and anything else. */
                group_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ProposalBody"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProposalReply"];
                };
            };
        };
    };
    "clear-session": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The group's id, percent-encoded: it may hold slashes and anything else. */
                group_id: string;
                /** @description The session's id, percent-encoded. */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClearReply"];
                };
            };
        };
    };
    "get-group-stats": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The group's id, percent-encoded: it may hold slashes and anything else. */
                group_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GroupStatsReply"];
                };
            };
        };
    };
    "get-memory-blame": {
        parameters: {
            query?: {
                /** @description As of this instant of the chat: by when things were said. */
                at?: string;
                /** @description As of this instant, by when things were written; instead of at. */
                recorded_at?: string;
            };
            header?: never;
            path: {
                /** @description Any version of the memory: it stands for its lineage. */
                memory_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BlameReply"];
                };
            };
        };
    };
    "get-memory-why": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Any version of the memory: it stands for its lineage. */
                memory_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WhyReply"];
                };
            };
        };
    };
    "list-runs": {
        parameters: {
            query?: {
                /** @description A run id: only older ones. */
                before?: string;
                /** @description Only runs of this group. */
                group?: string;
                /** @description Only runs of this job, such as evolve or dream. */
                job?: string;
                /** @description Runs at most. */
                limit?: number;
                /** @description Only runs that started at this instant or later. */
                since?: string;
                /** @description Only runs that stand so; held: of which a plan waits. */
                status?: "running" | "succeeded" | "held" | "deferred" | "failed" | "rejected";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunsReply"];
                };
            };
        };
    };
    "get-run": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The run's id. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunReply"];
                };
            };
        };
    };
    "approve-run": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The run's id. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ApproveBody"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EvolveReply"];
                };
            };
        };
    };
    "reject-run": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The run's id. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RejectBody"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RejectReply"];
                };
            };
        };
    };
    "undo-run": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The run's id. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["UndoBody"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UndoReply"];
                };
            };
        };
    };
    "list-team-memories": {
        parameters: {
            query?: {
                /** @description Only memories after this id: the next of the page before. */
                after?: string;
                /** @description Memories at most. */
                limit?: number;
                /** @description The team's name. A token of one team may leave it out. */
                team?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TeamMemories"];
                };
            };
        };
    };
    "get-team-memory": {
        parameters: {
            query?: {
                /** @description The team's name. A token of one team may leave it out. */
                team?: string;
            };
            header?: never;
            path: {
                /** @description The memory's id: that of its lineage, the same in every deployment. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TeamMemory"];
                };
            };
        };
    };
    "put-team-memory": {
        parameters: {
            query?: {
                /** @description The team's name. A token of one team may leave it out. */
                team?: string;
            };
            header?: {
                /** @description Names the write: sent again under the same key within 7 days, it is answered as it was, and made once. */
                "Idempotency-Key"?: string;
                /** @description ETag of the version that this one takes the place of. */
                "If-Match"?: string;
                /** @description To create the memory: there must be none of this id. */
                "If-None-Match"?: "*";
            };
            path: {
                /** @description The memory's id: that of its lineage, the same in every deployment. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TeamBody"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TeamMemory"];
                };
            };
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TeamMemory"];
                };
            };
        };
    };
    "list-webhooks": {
        parameters: {
            query?: {
                /** @description Only webhooks of this group alone. */
                group?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhooksReply"];
                };
            };
        };
    };
    "add-webhook": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AddWebhookBody"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookReply"];
                };
            };
        };
    };
    "delete-webhook": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The webhook's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookReply"];
                };
            };
        };
    };
    "replay-webhook": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The webhook's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReplayBody"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookReplayReply"];
                };
            };
        };
    };
    "test-webhook": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The webhook's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookTestReply"];
                };
            };
        };
    };
}

/** The route of each operation, and how many rows a page of it has at most. */
export const routes = {
  "add-memory": ["POST", "/memory/{group_id}", 0],
  "add-messages": ["POST", "/v1/groups/{group_id}/messages", 0],
  "add-webhook": ["POST", "/v1/webhooks", 0],
  "approve-run": ["POST", "/v1/runs/{run_id}/approve", 0],
  "clear-session": ["DELETE", "/v1/groups/{group_id}/sessions/{session_id}/buffer", 0],
  "delete-memory": ["DELETE", "/memory/{memory_id}", 0],
  "delete-message": ["DELETE", "/v1/groups/{group_id}/messages/{message_id}", 0],
  "delete-webhook": ["DELETE", "/v1/webhooks/{id}", 0],
  "edit-memory": ["PATCH", "/memory/{memory_id}", 0],
  "edit-message": ["PATCH", "/v1/groups/{group_id}/messages/{message_id}", 0],
  "evolve-group": ["POST", "/memory/evolve/{group_id}", 0],
  "explain-context": ["POST", "/v1/groups/{group_id}/explain", 0],
  "forget-author": ["POST", "/v1/groups/{group_id}/authors/{author_id}/forget", 0],
  "get-author-memories": ["GET", "/v1/groups/{group_id}/authors/{author_id}/memories", 200],
  "get-context": ["GET", "/v1/groups/{group_id}/context", 0],
  "get-costs": ["GET", "/v1/costs", 200],
  "get-dream": ["GET", "/v1/dreams/{group_id}", 0],
  "get-entity": ["GET", "/v1/entities/{group_id}/{entity_id}", 0],
  "get-group": ["GET", "/v1/groups/{group_id}", 0],
  "get-group-stats": ["GET", "/v1/groups/{group_id}/stats", 0],
  "get-memory": ["GET", "/memory/{memory_id}", 0],
  "get-memory-blame": ["GET", "/v1/memories/{memory_id}/blame", 0],
  "get-memory-diff": ["GET", "/v1/groups/{group_id}/diff", 0],
  "get-memory-history": ["GET", "/memory/history/{memory_id}", 0],
  "get-memory-why": ["GET", "/v1/memories/{memory_id}/why", 0],
  "get-run": ["GET", "/v1/runs/{run_id}", 0],
  "get-team-memory": ["GET", "/v1/team/memories/{id}", 0],
  "give-feedback": ["POST", "/v1/groups/{group_id}/feedback", 0],
  "link-entity": ["POST", "/v1/groups/{group_id}/entities/{entity_id}/link", 0],
  "list-changes": ["GET", "/memory/changes/{group_id}", 0],
  "list-entities": ["GET", "/v1/entities/{group_id}", 200],
  "list-groups": ["GET", "/v1/groups", 200],
  "list-memories": ["GET", "/memory/list/{group_id}", 200],
  "list-messages": ["GET", "/v1/groups/{group_id}/messages", 200],
  "list-nights": ["GET", "/v1/groups/{group_id}/nights", 60],
  "list-runs": ["GET", "/v1/runs", 200],
  "list-team-memories": ["GET", "/v1/team/memories", 200],
  "list-webhooks": ["GET", "/v1/webhooks", 0],
  "make-context": ["POST", "/v1/groups/{group_id}/context", 0],
  "propose-memory": ["POST", "/v1/groups/{group_id}/proposals", 0],
  "put-team-memory": ["PUT", "/v1/team/memories/{id}", 0],
  "reject-run": ["POST", "/v1/runs/{run_id}/reject", 0],
  "replay-webhook": ["POST", "/v1/webhooks/{id}/replay", 0],
  "restore-memory": ["PUT", "/memory/{memory_id}/restore", 0],
  "search-memories": ["GET", "/memory/search/{group_id}", 200],
  "set-memory-strength": ["PUT", "/memory/{memory_id}/strength", 0],
  "test-webhook": ["POST", "/v1/webhooks/{id}/test", 0],
  "undo-run": ["POST", "/v1/runs/{run_id}/undo", 0],
  "unlink-entity": ["DELETE", "/v1/groups/{group_id}/entities/{entity_id}/link", 0],
} as const satisfies Record<keyof operations, readonly [string, string, number]>;
