/** Counts the event loop turns of others while `work` runs. */
export async function yieldsToOthers(work: () => Promise<unknown>): Promise<number> {
  let turns = 0
  let isDone = false
  const count = () => {
    turns++
    if (!isDone) setImmediate(count)
  }
  setImmediate(count)
  await work()
  isDone = true
  return turns
}
