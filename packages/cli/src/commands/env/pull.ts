import { open, rename, stat, unlink } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { randomUUID } from 'node:crypto'
import { reply } from '../../api.ts'
import { command } from '../../command.ts'
import type { Context } from '../../context.ts'
import { Refusal } from '../../errors.ts'
import { says } from '../../gateway.ts'
import { bold, green } from '../../output.ts'
import { quote } from '../../shell.ts'

export const pull = command({
  summary: 'Write a .env file with the names of the secrets; you fill in the values',
  about: [
    'A skeleton: values never leave the service. --out - writes it to stdout.',
    'A file that is there stays as it is, unless --force replaces it.',
  ],
  scope: 'project',
  args: {},
  flags: {
    out: { kind: 'text', summary: 'Where to write it (default: .env)', value: 'path', names: 'file' },
    force: { kind: 'switch', summary: 'Replace a file that is there' },
  },
  examples: ['svc env pull', 'svc env pull --out .env.local --force'],
  async run(ctx, { flags }) {
    const { io, out } = ctx
    const given = flags.out ?? '.env'
    const path = resolve(io.cwd, given)
    if (given !== '-' && !flags.force) await refuseExisting(path, given)
    const { api, projectId } = await ctx.project()
    const found = await reply(api.GET('/v1/projects/{projectId}/secrets', { params: { path: { projectId } } }))
    const names = [...new Set([...found.required, ...found.items.map((item) => item.name), ...found.optional])]
    const text = skeleton(projectId, names, found)
    if (given === '-') return out.json ? out.document({ path: null, names }) : out.block(text)
    await write(path, given, text, flags.force)
    if (out.json) return out.document({ path, names })
    out.line(
      green('✓ '),
      'Wrote ',
      bold(given),
      `: ${names.length} ${names.length === 1 ? 'name' : 'names'}, no values`,
    )
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
  return [`# Secrets of the project ${projectId}. The values stay with the service.\n`, ...lines].join('\n')
}

async function refuseExisting(path: string, shown: string): Promise<void> {
  if ((await stat(path).catch(() => null)) !== null) throw exists(shown)
}

function exists(shown: string): Refusal {
  return new Refusal('exists', `${shown} is there already`, {
    hint: 'It may hold values that are nowhere else, so it stays as it is.',
    next: [`svc env pull --out ${quote(`${shown}.new`)}`, `svc env pull --out ${quote(shown)} --force`],
  })
}

/** For its owner's eyes from the first moment: what is filled in later is secret. */
async function write(path: string, shown: string, text: string, force: boolean): Promise<void> {
  const place = force ? join(resolve(path, '..'), `.env.${randomUUID()}.tmp`) : path
  const file = await open(place, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EEXIST') throw exists(shown)
    throw new Refusal('not_available', `${shown} cannot be written: ${error.message}`, { cause: error })
  })
  try {
    await file.writeFile(text)
  } finally {
    await file.close()
  }
  if (!force) return
  await rename(place, path).catch(async (error: Error) => {
    await unlink(place)
    throw new Refusal('not_available', `${shown} cannot be replaced: ${error.message}`, { cause: error })
  })
}

async function warnIfTracked({ io, out }: Context, path: string, shown: string): Promise<void> {
  const inRepository = await says(io.cwd, ['rev-parse', '--is-inside-work-tree'], io.env)
  if (inRepository && !(await says(io.cwd, ['check-ignore', '--quiet', '--', path], io.env)))
    out.warn(`git does not ignore ${shown}: add it to .gitignore before it holds values.`)
}
