import { bytesOf } from '@svc/contract/schemas/quotas'
import type { Project } from '@svc/sdk'
import { command } from '../../arguments/command.ts'
import { UsageError } from '../../errors.ts'
import { bold, dim, green } from '../../terminal/output.ts'
import { readStdin } from '../../terminal/read-stdin.ts'
import { isOwnKey, isQuota, meaning, requireKey, shownValue } from './keys.ts'

export const ls = command({
  summary: 'List the settings of a project',
  scope: 'project',
  examples: ['svc settings ls', 'svc settings ls --json'],
  async run({ out, project, next }) {
    const { name, default_branch, settings } = await project.get('')
    if (out.json) return out.document({ name, default_branch, ...settings })
    const rows = Object.entries({ name, default_branch, ...settings })
    out.table(rows, [
      { title: 'SETTING', of: ([key]) => key },
      {
        title: 'VALUE',
        of: ([key, value]) => (out.terminal ? shownValue(key, value) : plainValue(value)),
        shrink: true,
      },
      ...(out.terminal
        ? [{ title: '', of: ([key]: [string, unknown]) => dim(meaning[key] ?? ''), shrink: true as const }]
        : []),
    ])
    out.note(`Change one: ${next('svc settings set <setting>=<value>')}`)
  },
})

/** For programs, which pass the value back to `svc settings set`. */
function plainValue(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

export const set = command({
  summary: 'Change settings of a project',
  about: [
    'For owners and admins, with a user token. svc settings ls lists the settings; git_token=- reads the git access token from stdin.',
  ],
  scope: 'project',
  args: { pairs: { summary: 'SETTING=VALUE', names: 'setting', many: true } },
  examples: ['svc settings set manifest_gate=on', 'svc settings set name="My app" agent_merge=allow --json'],
  async run({ io, out, project }, { args }) {
    const pairs = args.pairs.map(splitPair)
    const before = await project.get('')
    for (const { key } of pairs) requireKey(before, key)
    if (pairs.filter(({ value }) => value === '-').length > 1)
      throw new UsageError('Only one value can come from stdin')
    for (const pair of pairs) if (pair.value === '-') pair.value = await readStdin(io, pair.key)
    const own = pairs.filter(({ key }) => isOwnKey(key)).map(({ key, value }) => [key, value])
    const settings = pairs.filter(({ key }) => !isOwnKey(key)).map(({ key, value }) => [key, typed(before, key, value)])
    const { data: changed, warnings } = await project.warned.patch('', {
      body: {
        ...(Object.fromEntries(own) as { name?: string }),
        // The server validates the values: it may know settings that this client does not.
        ...(settings.length === 0 ? {} : { settings: Object.fromEntries(settings) as { agent_merge?: 'allow' } }),
      },
    })
    for (const warning of warnings) out.warn(warning)
    if (out.json) return out.document(changed)
    for (const { key, value } of pairs)
      out.line(green('✓ '), bold(key), ` is ${key === 'git_token' ? 'changed' : changedTo(changed, key, value)} now`)
  },
})

function changedTo({ settings }: Project, key: string, value: string): string {
  return key in settings ? shownValue(key, settings[key as keyof Project['settings']]) : value
}

/** Caps, limits and quotas are numbers in the API; null means no cap, or the default quota. */
function typed({ settings }: Project, key: string, value: string): string | number | null {
  const isCap = isQuota(key) || key.startsWith('model_tokens_')
  if (isCap && value === 'none') return null
  if (isQuota(key)) return bytesOf(value) ?? value
  if (!isCap && typeof settings[key as keyof Project['settings']] !== 'number') return value
  return /^\d{1,15}$/.test(value) ? Number(value) : value
}

/** Never repeats the value in an error. */
function splitPair(pair: string): { key: string; value: string } {
  const at = pair.indexOf('=')
  if (at > 0) return { key: pair.slice(0, at), value: pair.slice(at + 1) }
  throw new UsageError('A setting must be SETTING=VALUE', { next: ['svc settings ls'] })
}
