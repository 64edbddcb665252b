/** Long enough for a busy machine, and shorter than the limit of a test. */
const untilMsMax = 90_000

/** Waits for a condition and returns its result. `what` completes the error message. */
export async function until<T>(what: string, look: () => Promise<T | null | false> | T | null | false): Promise<T> {
  const deadline = Date.now() + untilMsMax
  for (;;) {
    const found = await look()
    if (found !== null && found !== false) return found
    if (Date.now() > deadline) throw new Error(`Timed out after ${untilMsMax / 1000} s, waiting until ${what}.`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
