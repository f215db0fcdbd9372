// What is sent while the process ends.

interface Flushed {
  close(): Promise<unknown>;
}

const open = new Set<Flushed>();
const signals = ["SIGINT", "SIGTERM"] as const;

/** atExit closes something before the process ends by itself, or by a signal that nobody else handles. */
export function atExit(memory: Flushed): void {
  if (open.size === 0) {
    process.on("beforeExit", closeAll);
    for (const signal of signals) process.on(signal, onSignal);
  }
  open.add(memory);
}

/** notAtExit takes that back. */
export function notAtExit(memory: Flushed): void {
  if (!open.delete(memory) || open.size > 0) return;
  process.off("beforeExit", closeAll);
  for (const signal of signals) process.off(signal, onSignal);
}

async function closeAll(): Promise<void> {
  await Promise.all([...open].map((memory) => memory.close()));
}

function onSignal(signal: NodeJS.Signals): void {
  const alone = process.listenerCount(signal) === 1;
  void closeAll().finally(() => {
    // As it would have ended without us. Who else listens ends the process.
    if (alone) process.kill(process.pid, signal);
  });
}
