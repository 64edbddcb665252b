import { readFile, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { refuseSecretName } from '@svc/contract/schemas/secret-name'
import { command } from '../../arguments/command.ts'
import type { Context } from '../../context.ts'
import { Refusal, UsageError } from '../../errors.ts'
import { bold, green } from '../../terminal/output.ts'
import { readStdin } from '../../terminal/read-stdin.ts'
import { sentToSessions } from '../secrets/secrets.ts'

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
