import { open, rename, stat, unlink } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { randomUUID } from 'node:crypto'
import { command } from '../../arguments/command.ts'
import type { Context } from '../../context.ts'
import { Refusal } from '../../errors.ts'
import { says } from '../../git/gateway.ts'
import { bold, green } from '../../terminal/output.ts'
import { quote } from '../../arguments/shell-word.ts'

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
    out.warn(`git does not ignore ${shown}: add it to .gitignore before it holds values.`)
}
