/** `[sandbox]` of `svc.toml`: the image and the resources of a session's sandbox. */
import { egressPatternsMax, parseEgressPattern } from '../schemas/egress.ts'
import { kindOf, list, maybe, number, type Read, relativePath, type Shaped, shortened, text, wrong } from './fields.ts'
import { bytesOf } from '../schemas/quotas.ts'

const size =
  (smallest: string): Read<string> =>
  (value, path, report) => {
    const bytes = typeof value === 'string' ? bytesOf(value) : null
    if (typeof value === 'string' && bytes !== null && bytes >= bytesOf(smallest)!) return value
    const what = typeof value === 'string' ? shortened(value) : kindOf(value)
    report(path, bytes === null ? `must be a size such as "4GiB", but is ${what}` : `is less than ${smallest}`)
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
  /** A text with a unit; bytesOf() converts it. */
  memory?: string | undefined
  disk?: string | undefined
}
