import { everyOne } from "./turns.mjs";

// night adds the messages of each group, in order, so many at a time as job.perAdd says
// (0: all at once), with job.concurrency groups under way. Every group has the same
// messages.
export async function night(memories, job) {
  const messages = job.messages.map((content) => ({ role: "user", content }));
  const step = job.perAdd || messages.length;
  let added = 0;
  await everyOne(job.groups, job.concurrency, async (group, i) => {
    for (let at = 0; at < messages.length; at += step) {
      const { results } = await memories[i % memories.length].add(messages.slice(at, at + step), { userId: group.id });
      added += results.length;
    }
  });
  return { added };
}
