/** Running fetches, with the progress that git prints. */

export interface FetchProgress {
  phase: 'connecting' | 'counting' | 'receiving' | 'resolving'
  objects: number
  /** null: the host is still counting. */
  objects_total: number | null
  bytes: number
}

export interface RunningFetch {
  /** The store has no objects yet. */
  isFirst: boolean
  /** On the clock of `performance.now()`. */
  beganAt: number
  progress: FetchProgress
}

const running = new Map<string, RunningFetch>()

export function runningFetch(dir: string): RunningFetch | null {
  return running.get(dir) ?? null
}

/** Runs `work`, which fetches into the store at `dir`. The caller holds the store's lock. */
export async function trackFetch<T>(
  dir: string,
  isFirst: boolean,
  work: (fetch: RunningFetch) => Promise<T>,
): Promise<T> {
  const progress: FetchProgress = { phase: 'connecting', objects: 0, objects_total: null, bytes: 0 }
  const fetch = { isFirst, beganAt: performance.now(), progress }
  running.set(dir, fetch)
  try {
    return await work(fetch)
  } finally {
    running.delete(dir)
  }
}

/** Lines of `git fetch --progress` that are not errors: progress, and the list of moved refs. */
const counted =
  /^(?:remote: )?([A-Z][a-z]+ [a-z]+): +(?:(\d+)|\d+% \((\d+)\/(\d+)\))(?:, ([\d.]+) (bytes|KiB|MiB|GiB))?(?:[ ,|]|$)/
const listed = /^(?:remote: Total \d+ |From \S| [ +*=!t-] )/
const unitBytes = { bytes: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 }

/** Consumes a progress line. false: the line may be an error and must be kept. */
export function takeProgress(progress: FetchProgress, line: string): boolean {
  const [, name, plain, done, total, size, unit] = counted.exec(line) ?? []
  if (name === undefined) return listed.test(line)
  const phase = /^(?:Enumerating|Counting|Compressing)/.test(name)
    ? 'counting'
    : name === 'Receiving objects'
      ? 'receiving'
      : 'resolving'
  progress.phase = phase
  if (phase !== 'receiving') return true
  progress.objects = Number(done ?? plain)
  if (total !== undefined) progress.objects_total = Number(total)
  if (size !== undefined) progress.bytes = Math.round(Number(size) * unitBytes[unit as keyof typeof unitBytes])
  return true
}

/** Splits stderr into lines at \r and \n; calls `keep` for lines that `take` does not consume. */
export function splitLines(take: (line: string) => boolean, keep: (line: string) => void) {
  let rest = ''
  const offer = (line: string) => {
    if (line !== '' && !take(line)) keep(`${line}\n`)
  }
  return {
    write(chunk: Buffer) {
      const lines = (rest + chunk.toString('utf8')).split(/[\r\n]/)
      rest = lines.pop() ?? ''
      // Progress lines are short, so a longer line is kept; the buffer must not grow without limit.
      if (rest.length > lineMax) {
        keep(rest)
        rest = ''
      }
      lines.forEach(offer)
    },
    end: () => offer(rest),
  }
}

const lineMax = 16 * 1024
