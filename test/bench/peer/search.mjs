// search asks each of job.queries of the group of the same place in job.groups, one
// after the other, and says how long each took, in milliseconds, and what it found.
// The first job.warm of them are not counted.
export async function search([memory], job) {
  const took = [];
  const shown = [];
  for (const [i, query] of job.queries.entries()) {
    const began = performance.now();
    const { results } = await memory.search(query, { filters: { user_id: job.groups[i].id }, topK: job.limit, threshold: 0 });
    if (i < job.warm) continue;
    took.push(performance.now() - began);
    shown.push(results.map((r) => r.memory));
  }
  return { took, shown };
}
