const tails = new Map<string, Promise<unknown>>()

/** Runs `work` after all earlier calls with the same key. Only one process owns a data folder. */
export async function withLock<T>(key: string, work: () => Promise<T>): Promise<T> {
  const before = tails.get(key) ?? Promise.resolve()
  // An earlier call's error goes to its own caller.
  const mine = before.then(work, work)
  const tail = mine.then(ignoreOutcome, ignoreOutcome)
  tails.set(key, tail)
  try {
    return await mine
  } finally {
    if (tails.get(key) === tail) tails.delete(key)
  }
}

/** The caller of `work` gets its outcome. */
function ignoreOutcome(): void {}
