/** More than this between two reads shows that this process did not run, as while it is stopped or its machine sleeps. */
const stepMsMax = 10_000

/** The time in which this process ran since now, as long as it is read every few seconds. */
export function runningMs({ now }: { now: () => Date }): () => number {
  let at = now().getTime()
  let ran = 0
  return () => {
    const next = now().getTime()
    ran += Math.max(0, Math.min(next - at, stepMsMax))
    at = next
    return ran
  }
}
