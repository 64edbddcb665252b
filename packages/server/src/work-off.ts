interface Queue<T> {
  atOnce: number
  signal: AbortSignal
  /** Claims what is due next. Null: nothing is due. */
  take(): Promise<T | null>
  work(item: T): Promise<void>
}

/** Works off a queue, a few items at once. An empty queue is asked once, not by every worker. */
export async function workOff<T>({ atOnce, signal, take, work }: Queue<T>): Promise<void> {
  const next = async () => (signal.aborted ? null : take())
  const workFrom = async (item: T | null) => {
    for (let each = item; each !== null; each = await next()) await work(each)
  }
  const first = await next()
  if (first === null) return
  const others = Array.from({ length: atOnce - 1 }, async () => workFrom(await next()))
  await Promise.all([workFrom(first), ...others])
}
