/** `[sandbox]` of `svc.toml`: the image and the resources of a session's sandbox. */
import { egressPatternsMax, parseEgressPattern } from '../schemas/egress.ts'
import { kindOf, list, maybe, number, reader, relativePath, type Shaped, shortened, text } from './fields.ts'
import { bytesOf } from '../schemas/quotas.ts'

const size = (smallest: string) =>
  reader<string>((value) => {
    const bytes = typeof value === 'string' ? bytesOf(value) : null
    if (bytes !== null) return bytes >= bytesOf(smallest)! ? null : `is less than ${smallest}`
    return `must be a size such as "4GiB", but is ${typeof value === 'string' ? shortened(value) : kindOf(value)}`
  })

/** As nodes and engines name images: a registry, a path, and a tag or a digest. */
const imageName = text({
  max: 512,
  judge: (name) =>
    /^[a-zA-Z0-9][\w./:@-]*$/.test(name) ? null : 'must be the name of an image, such as "registry.example/team/app:1"',
})

const egressPattern = text({
  max: 300,
  judge(pattern) {
    const parsed = parseEgressPattern(pattern)
    return typeof parsed === 'string' ? parsed : null
  },
})

export const sandboxShape = {
  /** Built from the default branch by the container driver; without it `.svc/Dockerfile`, when there is one. */
  dockerfile: maybe(relativePath),
  /** An image in a registry, for the kubernetes driver. The operator decides which ones a project may name. */
  image: maybe(imageName),
  /** Run once as the agent in the work tree, before the agent runtime starts. */
  setup: maybe(text({ max: 8192 })),
  cpu: maybe(number(0.1, 1024, { whole: false })),
  /** A text with a unit; bytesOf() converts it. */
  memory: maybe(size('512MiB')),
  disk: maybe(size('64MiB')),
  idle_minutes: maybe(number(1, 43_200, { whole: true })),
  egress: maybe(list(egressPattern, egressPatternsMax)),
}

export type SandboxSettings = Partial<Shaped<typeof sandboxShape>>
