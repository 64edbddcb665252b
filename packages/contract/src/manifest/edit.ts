/** Edits `svc.toml` and keeps every other byte: comments, order, line ends, spelling of keys. */
import { parse } from 'smol-toml'
import { locate } from './locate.ts'

export class ManifestEditError extends Error {}

/** Sets `enabled` of one trigger. Returns the same text if nothing changes. Throws when no trigger has that slug. */
export function setTriggerEnabled(text: string, slug: string, enabled: boolean): string {
  const before = parse(text.replace(/^\u{feff}/u, ''))
  const triggers = Array.isArray(before.triggers) ? (before.triggers as Record<string, unknown>[]) : []
  const index = triggers.findIndex((trigger) => trigger.slug === slug)
  if (index === -1) throw new ManifestEditError(`No [[triggers]] entry has the slug ${JSON.stringify(slug)}.`)
  const current = triggers[index]!.enabled
  if (current === enabled || (current === undefined && enabled)) return text
  const edited = setInEntry(text, ['triggers', index], 'enabled', String(enabled))
  triggers[index]!.enabled = enabled
  requireSame(parse(edited.replace(/^\u{feff}/u, '')), before)
  return edited
}

/** Replaces the value of a key, or adds the key after the slug. */
function setInEntry(text: string, entry: (string | number)[], key: string, value: string): string {
  const places = locate(text)
  const own = places.get([...entry, key])
  if (own !== null) return text.slice(0, own.value) + value + text.slice(own.end)
  const slug = places.get([...entry, 'slug'])
  const header = places.get(entry)
  if (slug === null || header === null) throw new ManifestEditError('The entry was not found in the text.')
  const isInline = text[header.key] === '{'
  if (isInline) return `${text.slice(0, slug.end)}, ${key} = ${value}${text.slice(slug.end)}`
  const lineStart = text.lastIndexOf('\n', slug.key - 1) + 1
  const indent = /^[ \t]*/.exec(text.slice(lineStart, slug.key))![0]
  const lineEnd = text.indexOf('\n', slug.end)
  if (lineEnd === -1) return `${text}\n${indent}${key} = ${value}\n`
  const newline = text[lineEnd - 1] === '\r' ? '\r\n' : '\n'
  return `${text.slice(0, lineEnd + 1)}${indent}${key} = ${value}${newline}${text.slice(lineEnd + 1)}`
}

/** The edit works by offsets. Parse the result to verify the new value, and that nothing else changed. */
function requireSame(edited: unknown, meant: unknown): void {
  if (sorted(edited) === sorted(meant)) return
  throw new ManifestEditError('The file is written in a way that this edit does not support. Edit it by hand.')
}

/** Key order differs after an added key, so it is not compared. */
function sorted(value: unknown): string {
  return JSON.stringify(value, (_, item: unknown) =>
    typeof item === 'object' && item !== null && !Array.isArray(item)
      ? Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1))
      : item,
  )
}
