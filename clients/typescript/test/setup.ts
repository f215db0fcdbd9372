import type { TestProject } from "vitest/node";
import { Server } from "./server.js";

declare module "vitest" {
  interface ProvidedContext {
    server: { url: string; token: string };
  }
}

/** One server for all tests that do not restart it. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await Server.start();
  project.provide("server", { url: server.url, token: server.token });
  return () => server.stop();
}
