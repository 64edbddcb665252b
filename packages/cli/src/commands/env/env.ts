import { count } from '@svc/contract/count'
import { refuseSecretName } from '@svc/contract/schemas/secret-name'
import { randomUUID } from 'node:crypto'
import { open, readFile, rename, stat, unlink } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { command } from '../../arguments/command.ts'
import { quote } from '../../arguments/shell-word.ts'
import type { Context } from '../../context.ts'
import { Refusal, UsageError } from '../../errors.ts'
import { says } from '../../git/gateway.ts'
import { bold, green } from '../../terminal/output.ts'
import { readStdin } from '../../terminal/read-stdin.ts'
import { sentToSessions } from '../secrets/secrets.ts'

export const pull = command({
  summary: 'Write a .env file with the names of the secrets, for you to fill in',
  about: [
    'Writes no values: they never leave the service. --out - writes to stdout.',
    'Keeps an existing file, unless --force is set.',
  ],
  scope: 'project',
  flags: {
    out: { kind: 'text', summary: 'Path of the file (default: .env)', value: 'path', names: 'file' },
    force: { kind: 'switch', summary: 'Replace an existing file' },
  },
  examples: ['svc env pull', 'svc env pull --out .env.local --force'],
  async run(ctx, { flags }) {
    const { io, out } = ctx
    const given = flags.out ?? '.env'
    const path = resolve(io.cwd, given)
    if (given !== '-' && !flags.force) await refuseExisting(path, given)
    const found = await ctx.project.get('/secrets')
    const names = [...new Set([...found.required, ...found.items.map((item) => item.name), ...found.optional])]
    const text = skeleton(await ctx.projectId(), names, found)
    if (given === '-') return out.json ? out.document({ path: null, names }) : out.block(text)
    await write(path, given, text, flags.force)
    if (out.json) return out.document({ path, names })
    out.line(green('✓ '), 'Wrote ', bold(given), `: ${count(names.length, 'name')}, no values`)
    await warnIfTracked(ctx, path, given)
    out.note(`Fill in the values; ${ctx.next(`svc env push --from ${quote(given)}`)} uploads them.`)
  },
})

function skeleton(
  projectId: string,
  names: readonly string[],
  found: { required: readonly string[]; items: readonly { name: string }[] },
): string {
  const set = new Set(found.items.map((item) => item.name))
  const lines = names.map((name) => {
    const asked = found.required.includes(name) ? 'required by svc.toml, ' : ''
    return `# ${asked}${set.has(name) ? 'set' : 'not set yet'}\n${name}=\n`
  })
  return [`# Secrets of the project ${projectId}. The service never returns their values.\n`, ...lines].join('\n')
}

async function refuseExisting(path: string, shown: string): Promise<void> {
  if ((await stat(path).catch(() => null)) !== null) throw exists(shown)
}

function exists(shown: string): Refusal {
  return new Refusal('exists', `${shown} already exists`, {
    hint: 'It may have values that exist nowhere else, so it was not changed.',
    next: [`svc env pull --out ${quote(`${shown}.new`)}`, `svc env pull --out ${quote(shown)} --force`],
  })
}

/** Created readable by its owner alone, because the user fills in secrets. */
async function write(path: string, shown: string, text: string, force: boolean): Promise<void> {
  const place = force ? join(resolve(path, '..'), `.env.${randomUUID()}.tmp`) : path
  const file = await open(place, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EEXIST') throw exists(shown)
    const why = error.code === 'ENOENT' ? `the folder ${dirname(path)} does not exist` : error.message
    throw new Refusal('not_available', `${shown} can't be written: ${why}`, { cause: error })
  })
  try {
    await file.writeFile(text)
  } finally {
    await file.close()
  }
  if (!force) return
  await rename(place, path).catch(async (error: Error) => {
    await unlink(place)
    throw new Refusal('not_available', `${shown} can't be replaced: ${error.message}`, { cause: error })
  })
}

async function warnIfTracked({ io, out }: Context, path: string, shown: string): Promise<void> {
  const inRepository = await says(io.cwd, ['rev-parse', '--is-inside-work-tree'], io.env)
  if (inRepository && !(await says(io.cwd, ['check-ignore', '--quiet', '--', path], io.env)))
    out.warn(`git does not ignore ${shown}: add it to .gitignore before it contains values.`)
}

const bytesMax = 1024 * 1024
/** The service's limit for one value. */
const valueBytesMax = 64 * 1024

export const push = command({
  summary: 'Set every NAME=VALUE of a .env file as a secret',
  about: [
    'Supports quoted and multi-line values, export NAME=VALUE and comments; --from - reads stdin. Skips names without a value, so you can fill in the file of svc env pull step by step.',
    'Checks everything first: one invalid name, and nothing is set.',
  ],
  scope: 'project',
  flags: { from: { kind: 'text', summary: 'The file; - reads stdin', value: 'path', required: true, names: 'file' } },
  examples: ['svc env push --from .env', 'op inject -i .env.tpl | svc env push --from -'],
  async run(ctx, { flags }) {
    const { parse } = await import('dotenv')
    const all = Object.entries(parse(await readFrom(ctx, flags.from)))
    refuseBad(all, flags.from)
    const pairs = all.filter(([, value]) => value !== '')
    const skipped = all.filter(([, value]) => value === '').map(([name]) => name)
    if (pairs.length === 0)
      throw new Refusal('nothing_to_push', `${shownOf(flags.from)} contains no NAME=VALUE with a value`, {
        next: ['svc env pull', 'svc secrets set NAME=-'],
      })
    const set = await upload(ctx, pairs)
    const { out } = ctx
    if (out.json) return out.document({ set, skipped })
    if (skipped.length > 0) out.note(`Skipped, because they have no value: ${skipped.join(', ')}`)
    out.note(sentToSessions(ctx))
  },
})

function shownOf(from: string): string {
  return from === '-' ? 'stdin' : from
}

async function readFrom({ io }: Context, from: string): Promise<string> {
  if (from === '-') return readStdin(io, 'the .env file')
  const path = resolve(io.cwd, from)
  const found = await stat(path).catch(() => null)
  if (found === null)
    throw new Refusal('not_found', `There is no file ${from}`, { next: ['svc env pull', 'svc env push --from <path>'] })
  if (!found.isFile()) throw new UsageError(`--from must be a file, but ${from} is not`)
  if (found.size > bytesMax) throw new UsageError(`${from} is larger than 1 MiB`)
  return (await readFile(path, 'utf8')).replace(/^\uFEFF/, '')
}

/** Reports all bad names at once, and never a value. */
function refuseBad(pairs: readonly (readonly [string, string])[], from: string): void {
  const issues = pairs.flatMap(([name, value]) => {
    const refused = refuseSecretName(name)
    if (refused !== null) return [{ path: name, message: refused }]
    if (Buffer.byteLength(value) > valueBytesMax) return [{ path: name, message: 'The value is larger than 64 KiB.' }]
    return []
  })
  if (issues.length === 0) return
  throw new Refusal('refused_names', `${shownOf(from)} can't be uploaded; nothing was set`, {
    hint: 'Remove or rename these lines.',
    detail: { issues },
    lines: issues.map(({ path, message }) => `${path}: ${message}`),
  })
}

async function upload(ctx: Context, pairs: readonly (readonly [string, string])[]): Promise<string[]> {
  const { out } = ctx
  const set: string[] = []
  for (const [name, value] of pairs) {
    out.passing(`setting ${set.length + 1} of ${pairs.length}…`)
    await ctx.project.post('/secrets', { body: { name, value } }).catch((error: unknown) => {
      if (set.length > 0) out.warn(`${set.length} of ${pairs.length} were set before this: ${set.join(', ')}`)
      throw error
    })
    set.push(name)
    if (!out.json) out.line(green('✓ '), 'Set ', bold(name))
  }
  return set
}
