const tails = new Map<string, Promise<unknown>>()

/** Runs `work` after everything that asked for the same key before. One process owns a data folder, so a lock in memory is enough. */
export async function withLock<T>(key: string, work: () => Promise<T>): Promise<T> {
  const before = tails.get(key) ?? Promise.resolve()
  // Whether the one before failed is its caller's concern; here it only matters that it is over.
  const mine = before.then(work, work)
  const tail = mine.catch(() => {})
  tails.set(key, tail)
  try {
    return await mine
  } finally {
    if (tails.get(key) === tail) tails.delete(key)
  }
}
