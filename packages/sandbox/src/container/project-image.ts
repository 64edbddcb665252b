/** Builds a project's own image from the files of its default branch. */
import type { BuiltImage } from '../driver.ts'
import { SandboxError } from '../driver.ts'
import type { Engine } from './engine.ts'

const repository = 'svc-project-image'
const buildMs = 15 * 60_000

/** Builds in progress by key, shared by concurrent creates. */
const building = new Map<string, Promise<string>>()

export async function ensureProjectImage(
  engine: Engine,
  image: BuiltImage,
  network: 'none' | 'default',
  signal: AbortSignal,
): Promise<string> {
  if (!/^[a-z0-9]{16,64}$/.test(image.key)) throw new SandboxError('boot-failed', 'The image key is not valid.')
  const name = `${repository}:${image.key}`
  if (await engine.has(`/images/${name}/json`)) return name
  const key = `${engine.socket} ${name}`
  const flight = building.get(key) ?? build(engine, image, name, network)
  building.set(key, flight)
  const forget = () => building.delete(key)
  flight.then(forget, forget)
  const aborted = new Promise<never>((_, reject) =>
    signal.addEventListener('abort', () => reject(signal.reason as Error)),
  )
  return Promise.race([flight, aborted])
}

async function build(engine: Engine, image: BuiltImage, name: string, network: string): Promise<string> {
  const query = new URLSearchParams({
    t: name,
    dockerfile: image.dockerfile,
    networkmode: network,
    // Removes intermediate containers.
    rm: 'true',
    forcerm: 'true',
    labels: JSON.stringify({ 'svc.image': image.key }),
  })
  const stream = await image.context()
  const reply = await engine.request('POST', `/build?${query}`, { stream, signal: AbortSignal.timeout(buildMs) })
  // One JSON document per line: progress, and an error at the end if the build failed.
  let last = ''
  let error: string | null = null
  for (const line of (await reply.text()).split('\n')) {
    if (line.trim() === '') continue
    const progress = JSON.parse(line) as { stream?: string; error?: string }
    if (progress.stream?.trim()) last = progress.stream.trim()
    if (progress.error) error = progress.error
  }
  if (error === null) return name
  const reason = error.replace(/[\p{Cc}\p{Cf}]/gu, ' ').slice(0, 500)
  throw new SandboxError('boot-failed', `Couldn't build the image of ${image.dockerfile}: ${reason}`, {
    hint: `The last build step: ${last.replace(/[\p{Cc}\p{Cf}]/gu, ' ').slice(0, 300)}`,
  })
}
