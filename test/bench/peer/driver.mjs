// Does one job that comes as JSON on standard input, and says as JSON on standard
// output what came of it. What the jobs are given and say stands in their files.
import { text } from "node:stream/consumers";
import { outside } from "./network.mjs";
import { open, remember } from "./store.mjs";
import { night } from "./night.mjs";
import { search } from "./search.mjs";

const job = JSON.parse(await text(process.stdin));
const jobs = { open: () => ({}), remember, night, search };
if (!jobs[job.what]) throw new Error(`${job.what}: no such job; there are ${Object.keys(jobs)}`);
const memories = await open(job);
const result = await jobs[job.what](memories, job);
console.log(JSON.stringify({ ...result, outside: outside() }));
process.exit(0); // its connections have no way to be closed that closes all of them
