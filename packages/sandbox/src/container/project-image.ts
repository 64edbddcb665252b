/** A project's own image, built by the engine from what its default branch holds. */
import type { ProjectImage } from '../driver.ts'
import { SandboxError } from '../driver.ts'
import type { Engine } from './engine.ts'

const repository = 'svc-project-image'
const buildMs = 15 * 60_000

/** Built once for a key; a build in flight is shared by all who want it. */
const building = new Map<string, Promise<string>>()

export async function ensureProjectImage(
  engine: Engine,
  image: ProjectImage,
  network: 'none' | 'default',
  signal: AbortSignal,
): Promise<string> {
  if (!/^[a-z0-9]{16,64}$/.test(image.key)) throw new SandboxError('boot-failed', 'The image has no proper key.')
  const name = `${repository}:${image.key}`
  const known = await engine.request('GET', `/images/${name}/json`, { accept: [404] })
  await known.arrayBuffer()
  if (known.ok) return name
  const at = `${engine.socket} ${name}`
  const flight = building.get(at) ?? build(engine, image, name, network)
  building.set(at, flight)
  flight.finally(() => building.delete(at)).catch(() => {})
  const gaveUp = new Promise<never>((_, reject) =>
    signal.addEventListener('abort', () => reject(signal.reason as Error)),
  )
  return Promise.race([flight, gaveUp])
}

async function build(engine: Engine, image: ProjectImage, name: string, network: string): Promise<string> {
  const query = new URLSearchParams({
    t: name,
    dockerfile: image.dockerfile,
    networkmode: network,
    // What the build leaves in between is of no use to anybody.
    rm: 'true',
    forcerm: 'true',
    labels: JSON.stringify({ 'svc.image': image.key }),
  })
  const stream = await image.context()
  const reply = await engine.request('POST', `/build?${query}`, { stream, signal: AbortSignal.timeout(buildMs) })
  // One JSON document a line: what it does, and at the end an error, if there is one.
  let last = ''
  let error: string | null = null
  for (const line of (await reply.text()).split('\n')) {
    if (line.trim() === '') continue
    const said = JSON.parse(line) as { stream?: string; error?: string }
    if (said.stream?.trim()) last = said.stream.trim()
    if (said.error) error = said.error
  }
  if (error === null) return name
  const why = error.replace(/[\p{Cc}\p{Cf}]/gu, ' ').slice(0, 500)
  throw new SandboxError('boot-failed', `The image of ${image.dockerfile} could not be built: ${why}`, {
    hint: `The last thing it did: ${last.replace(/[\p{Cc}\p{Cf}]/gu, ' ').slice(0, 300)}`,
  })
}
