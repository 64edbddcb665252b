/** What each changed entry of svc.toml was and becomes, and what of it a person should confirm. */
import { type EffectDetail, type Manifest, type MergeEffects, nextTimesShown, slotsAfter } from '@svc/contract'
import { scheduleWords } from '../../projects/schedule-words.ts'
import type { ManifestFile } from '../../projects/manifest.ts'
import { newGoals, newHosts, newSecrets, unreadable } from './confirmations.ts'

const textMax = 500

type Named = Pick<EffectDetail, 'kind' | 'name' | 'change'>

export function effectDetails(
  before: Manifest,
  file: Pick<ManifestFile, 'manifest' | 'issues'>,
  effects: Omit<MergeEffects, 'details' | 'words'>,
  now: Date,
): EffectDetail[] {
  const { manifest: after } = file
  const ends = unreadable(before, file)
  const detail = (named: Named, was: object | undefined, is: object | undefined, confirm: string[] = []) => ({
    ...named,
    fields: changedFields(shown(was), shown(is)),
    next_fire_at: [],
    confirm,
  })
  const pair = <T>(of: (manifest: Manifest) => T[], is: (entry: T) => boolean) =>
    [of(before).find(is), of(after).find(is)] as const
  return [
    ...(ends.length === 0
      ? []
      : [detail({ kind: 'setting', name: 'svc.toml', change: 'removed' }, undefined, undefined, ends)]),
    ...effects.triggers.map(({ slug, change }) => {
      const [was, is] = pair(
        ({ triggers }) => triggers,
        (one) => one.slug === slug,
      )
      const slots = is?.enabled === true && is.type === 'cron' ? slotsAfter(is, now, nextTimesShown) : []
      const one = detail({ kind: 'trigger', name: slug, change }, was, is)
      if (is === undefined || slots.length === 0) return one
      return { ...one, next_fire_at: slots.map((at) => at.toISOString()), timezone: is.timezone }
    }),
    ...effects.apps.map(({ slug, change }) => {
      const [was, is] = pair(
        ({ apps }) => apps,
        (one) => one.slug === slug,
      )
      return detail({ kind: 'app', name: slug, change }, was, is, is === undefined ? [] : newSecrets(before, is))
    }),
    ...effects.connectors.map(({ name, change }) => {
      const [was, is] = pair(
        ({ connectors }) => connectors,
        (one) => one.slug === name,
      )
      return detail({ kind: 'connector', name, change }, was, is, is === undefined ? [] : newGoals(before, is))
    }),
    ...effects.channels.map(({ name, change }) => {
      const [was, is] = pair(
        ({ channels }) => channels,
        (one) => one.platform === name,
      )
      return detail({ kind: 'channel', name, change }, was, is)
    }),
    ...effects.checks.map(({ name, change }) => {
      const [was, is] = pair(
        ({ checks }) => checks,
        (one) => one.name === name,
      )
      return detail({ kind: 'check', name, change }, was, is)
    }),
    ...effects.settings.map((key) => {
      const [was, is] = [settingOf(before, key), settingOf(after, key)]
      const confirm = key === 'sandbox.egress' ? newHosts(before, after) : []
      return detail({ kind: 'setting', name: key, change: 'changed' }, { [key]: was }, { [key]: is }, confirm)
    }),
  ]
}

function settingOf(manifest: Manifest, key: string): unknown {
  const [table, name] = key.split('.') as ['env' | 'runtime' | 'sandbox', string]
  return (manifest[table] as unknown as Record<string, unknown>)[name]
}

/** The keys of an entry as texts, with one key for its schedule, and one for each variable of a table. */
function shown(entry: object | undefined): Map<string, string> {
  const fields = new Map<string, string>()
  if (entry === undefined) return fields
  const { cron, timezone, run_at, ...rest } = entry as Record<string, unknown>
  const schedule = scheduleWords({ cron, run_at })
  if (schedule !== null) fields.set('schedule', `${schedule} (${String(timezone)})`)
  for (const [key, value] of Object.entries(rest)) {
    if (value === null || value === undefined || value === '' || isDefaultList(key, value)) continue
    if (['slug', 'name', 'platform'].includes(key)) continue
    if (typeof value === 'object' && !Array.isArray(value))
      for (const [name, text] of Object.entries(value)) {
        if (text !== null) fields.set(`${key}.${name}`, textOf(text))
      }
    else fields.set(key, textOf(value))
  }
  return fields
}

/** An empty list is the default. Only for hosts it is a choice: none of them. */
const isDefaultList = (key: string, value: unknown) =>
  Array.isArray(value) && value.length === 0 && key !== 'sandbox.egress'

function textOf(value: unknown): string {
  if (typeof value === 'boolean') return value ? 'on' : 'off'
  const text = Array.isArray(value) ? value.map(String).join(', ') || 'no hosts' : String(value)
  return text.length > textMax ? `${text.slice(0, textMax)}…` : text
}

function changedFields(was: Map<string, string>, is: Map<string, string>): EffectDetail['fields'] {
  return [...new Set([...was.keys(), ...is.keys()])].flatMap((field) => {
    const [before, after] = [was.get(field) ?? null, is.get(field) ?? null]
    return before === after ? [] : [{ field, before, after }]
  })
}
