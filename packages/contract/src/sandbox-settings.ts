/** `[sandbox]` of `svc.toml`: from what a session's sandbox is made, and what it may use. */
import { egressPatternsMax, parseEgressPattern } from './egress.ts'
import {
  kindOf,
  list,
  maybe,
  number,
  type Read,
  relativePath,
  type Shaped,
  shortened,
  text,
  wrong,
} from './manifest-fields.ts'

const units: Record<string, number> = { '': 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3, t: 1024 ** 4 }

/** Bytes of "4GiB", "512M" or "2g"; all of them in powers of 1024. Null when it is no size. */
export function bytesOf(text: string): number | null {
  const [, number, unit = ''] = /^(\d{1,7}(?:\.\d{1,3})?) ?([kmgt]?)(?:i?b)?$/i.exec(text.trim()) ?? []
  return number === undefined ? null : Math.round(Number(number) * units[unit.toLowerCase()]!)
}

const size =
  (smallest: string): Read<string> =>
  (value, path, report) => {
    const bytes = typeof value === 'string' ? bytesOf(value) : null
    if (typeof value === 'string' && bytes !== null && bytes >= bytesOf(smallest)!) return value
    const what = typeof value === 'string' ? shortened(value) : kindOf(value)
    report(path, bytes === null ? `has to be a size such as "4GiB", but is ${what}` : `is less than ${smallest}`)
    return wrong
  }

const egressPattern = text({
  max: 300,
  judge(pattern) {
    const parsed = parseEgressPattern(pattern)
    return typeof parsed === 'string' ? parsed : null
  },
})

export const sandboxShape = {
  dockerfile: maybe(relativePath),
  setup: maybe(text({ max: 8192 })),
  cpu: maybe(number(0.1, 1024, { whole: false })),
  memory: maybe(size('512MiB')),
  disk: maybe(size('64MiB')),
  idle_minutes: maybe(number(1, 43_200, { whole: true })),
  egress: maybe(list(egressPattern, egressPatternsMax)),
}

export interface SandboxSettings extends Partial<Shaped<typeof sandboxShape>> {
  /** Built from the default branch by the container driver; without it `.svc/Dockerfile`, when there is one. */
  dockerfile?: string | undefined
  /** Run once as the agent in the work tree, before the agent runtime starts. */
  setup?: string | undefined
  /** Text with a unit: bytesOf() tells the bytes. */
  memory?: string | undefined
  disk?: string | undefined
}
