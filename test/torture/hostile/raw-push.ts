/** A push that no client has checked: a pack of all objects, written and sent by hand. */
import { randomUUID } from 'node:crypto'
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { inflateSync } from 'node:zlib'
import { packOf, type PackEntry } from './repository.ts'
import type { Server } from './visit.ts'
import { gatewayOf } from '../../e2e/harness.ts'
import { type Arrival, pushed, refsOf } from './ways.ts'

/** The gateway accepts at most this many commands in one push. */
const commandsMax = 5_000

/** git pushes the default branch, so that there is a valid side to compare with; the rest is sent by hand. */
export async function pushedRaw(
  server: Server,
  hostile: { dir: string; alsoPush: string[] },
  scratch: string,
): Promise<Arrival> {
  const arrival = await pushed(server, { ...hostile, mainOnly: true }, scratch)
  if (arrival.projectId === null) return arrival
  const refs = await refsOf(hostile.dir)
  const names = [...refs.keys()].filter((name) => name !== 'refs/heads/main')
  const others = names.filter((name) => name !== 'refs/heads/work')
  const pack = join(scratch, `${randomUUID()}.pack`)
  await writePack(hostile.dir, pack)
  const url = new URL(gatewayOf(server, { project_id: arrival.projectId }))
  // The refs of the change request go alone, because one refused command must not drop them.
  for (const group of [['refs/heads/work'], others.slice(0, commandsMax)]) {
    const updates = group.flatMap((name) => (refs.has(name) ? [{ name, sha: refs.get(name)! }] : []))
    if (updates.length === 0) continue
    const told = await send(url, updates, pack)
    arrival.refused.push(...told.map((words) => `raw: ${words}`))
  }
  await rm(pack, { force: true })
  return arrival
}

async function send(url: URL, updates: { name: string; sha: string }[], pack: string): Promise<string[]> {
  const capabilities = '\0report-status object-format=sha1 agent=by-hand'
  const lines = updates.map(({ name, sha }, n) => `${'0'.repeat(40)} ${sha} ${name}${n === 0 ? capabilities : ''}`)
  const commands = Buffer.concat(lines.map((line) => pktLine(line)))
  const response = await fetch(`${url.origin}${url.pathname}/git-receive-pack`, {
    method: 'POST',
    headers: {
      authorization: `Basic ${btoa(`${url.username}:${url.password}`)}`,
      'content-type': 'application/x-git-receive-pack-request',
    },
    body: new Blob([commands, '0000', await readFile(pack)]),
    signal: AbortSignal.timeout(120_000),
  })
  const text = (await response.text()).replaceAll(/[^\x20-\x7e]+/g, ' ')
  if (response.status !== 200) return [`${response.status} ${text.slice(0, 220)}`]
  return text.includes('unpack ok') && !/ ?ng refs/.test(text) ? [] : [text.slice(0, 220)]
}

function pktLine(text: string): Buffer {
  const bytes = Buffer.from(text)
  return Buffer.concat([Buffer.from((bytes.length + 4).toString(16).padStart(4, '0')), bytes])
}

/** By git where it can read the objects; otherwise by hand, with every object that can be unpacked. */
async function writePack(dir: string, path: string): Promise<void> {
  const loose = await looseObjects(dir)
  const ids = [...loose.map(({ id }) => id), ...(await packedIds(dir))]
  const input = `${path}.ids`
  await writeFile(input, ids.map((id) => `${id}\n`).join(''))
  const child = Bun.spawn(
    ['git', `--git-dir=${dir}`, 'pack-objects', '--stdout', '--window=0', '--compression=1', '--threads=1', '-q'],
    { stdin: Bun.file(input), stdout: Bun.file(path), stderr: 'ignore' },
  )
  const code = await child.exited
  await rm(input)
  if (code !== 0) await writeFile(path, packOf(await Promise.all(loose.map(entryOf)).then((all) => all.flat())))
}

async function looseObjects(dir: string): Promise<{ id: string; path: string }[]> {
  const names = await readdir(join(dir, 'objects'), { recursive: true })
  return names
    .filter((name) => /^[0-9a-f]{2}\/[0-9a-f]{38}$/.test(name))
    .map((name) => ({ id: name.replace('/', ''), path: join(dir, 'objects', name) }))
}

async function packedIds(dir: string): Promise<string[]> {
  const names = await readdir(join(dir, 'objects/pack')).catch(() => [])
  const ids: string[] = []
  for (const name of names.filter((one) => one.endsWith('.idx'))) {
    const shown = Bun.spawn(['git', 'show-index'], { stdin: Bun.file(join(dir, 'objects/pack', name)), stdout: 'pipe' })
    for (const line of (await new Response(shown.stdout).text()).split('\n')) ids.push(line.split(' ')[1] ?? '')
  }
  return ids.filter(Boolean)
}

async function entryOf({ path }: { path: string }): Promise<PackEntry[]> {
  try {
    const whole = inflateSync(await readFile(path))
    const end = whole.indexOf(0)
    const type = whole.toString('latin1', 0, end).split(' ')[0] as PackEntry['type']
    return ['commit', 'tree', 'blob', 'tag'].includes(type) ? [{ type, body: whole.subarray(end + 1) }] : []
  } catch {
    // A pack cannot carry a file of garbage.
    return []
  }
}
