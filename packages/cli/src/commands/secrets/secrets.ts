import { command } from '../../arguments/command.ts'
import type { Context } from '../../context.ts'
import { UsageError } from '../../errors.ts'
import { bold, dim, green, red } from '../../terminal/output.ts'
import { readStdin } from '../../terminal/read-stdin.ts'

export const ls = command({
  summary: 'List the names of the secrets, and those that svc.toml needs; never a value',
  scope: 'project',
  examples: ['svc secrets ls', 'svc secrets ls --json'],
  async run({ out, project, next }) {
    const found = await project.get('/secrets')
    if (out.json) return out.document(found)
    const set = new Map(found.items.map((item) => [item.name, item]))
    const names = [...new Set([...found.missing, ...set.keys(), ...found.optional])]
    if (names.length === 0) return out.note(`No secrets yet. Set one from stdin: ${next('svc secrets set NAME=-')}`)
    const asked = (name: string) => {
      // An older server omits them.
      const needed = (found.needed as typeof found.needed | undefined)?.find((each) => each.name === name)
      const by = needed?.needed_by.flatMap(({ kind, slug }) => (slug === null ? [] : [`${kind} ${slug}`])) ?? []
      if (found.required.includes(name)) by.unshift('required')
      return by.length === 0 && found.optional.includes(name) ? 'optional' : by.join(', ')
    }
    out.table(names, [
      { title: 'NAME', of: (name) => name },
      {
        title: 'STATE',
        of: (name) => (set.has(name) ? green('set') : found.missing.includes(name) ? red('missing') : dim('not set')),
      },
      { title: 'SVC.TOML', of: asked },
      { title: 'CHANGED', of: (name) => (set.has(name) ? out.time(set.get(name)!.updated_at) : '') },
    ])
    if (found.missing.length > 0) out.note(`Missing: ${next(`svc secrets set ${found.missing[0]}=-`)}`)
  },
})

export const set = command({
  summary: 'Set secrets, also in running sessions',
  about: ['NAME=- reads the value from stdin, which keeps it out of your shell history.'],
  scope: 'project',
  args: { pairs: { summary: 'NAME=VALUE, or NAME=- for stdin', many: true } },
  examples: ['svc secrets set STRIPE_KEY=-', 'svc secrets set REGION=eu STAGE=test'],
  async run(ctx, { args }) {
    const pairs = args.pairs.map(splitPair)
    if (pairs.filter(({ value }) => value === '-').length > 1)
      throw new UsageError('Only one value can come from stdin')
    for (const pair of pairs) if (pair.value === '-') pair.value = await readStdin(ctx.io, `the value of ${pair.name}`)
    const items = []
    for (const body of pairs) {
      const { data: item, warnings } = await ctx.project.warned.post('/secrets', { body })
      items.push(item)
      for (const warning of warnings) ctx.out.warn(warning)
      if (!ctx.out.json) ctx.out.line(green('✓ '), 'Set ', bold(item.name))
    }
    if (ctx.out.json) ctx.out.document({ items })
    else ctx.out.note(sentToSessions(ctx))
  },
})

/** The service forwards the change to running sessions. */
export function sentToSessions({ next }: Pick<Context, 'next'>): string {
  return `Running sessions get it within seconds, for programs that agents start from then on. To restart running programs: ${next('svc sessions restart <id>')}`
}

/** Never repeats the value in an error. */
function splitPair(pair: string): { name: string; value: string } {
  const at = pair.indexOf('=')
  if (at > 0) return { name: pair.slice(0, at), value: pair.slice(at + 1) }
  throw new UsageError('A secret must be NAME=VALUE, or NAME=- to read it from stdin', {
    next: [
      `svc secrets set ${/^[A-Za-z_][A-Za-z0-9_]{0,40}$/.test(pair) && pair === pair.toUpperCase() ? pair : 'NAME'}=-`,
    ],
  })
}

export const unset = command({
  summary: 'Remove secrets',
  scope: 'project',
  args: { names: { summary: 'Names of the secrets', names: 'secret', many: true } },
  examples: ['svc secrets unset STRIPE_KEY', 'svc secrets unset REGION STAGE --json'],
  async run({ out, project }, { args }) {
    for (const name of args.names) {
      await project.delete('/secrets/{name}', { path: { name } })
      if (!out.json) out.line(green('✓ '), 'Removed ', bold(name))
    }
    if (out.json) out.document({ removed: args.names })
  },
})
