/** The differences between an audit row's before and after, one line each. */
import { shortCommit } from '../../components/short-commit.ts'

const shownMax = 6
const charsMax = 120

export function changes(before: unknown, after: unknown): string[] {
  const [old, now] = [flat(before), flat(after)]
  const lines = [...new Set([...old.keys(), ...now.keys()])].flatMap((name) => {
    const [was, is] = [old.get(name), now.get(name)]
    if (was === is) return []
    const label = name.replaceAll('_', ' ')
    if (was === undefined) return [`${label}: ${is}`]
    // Removed, or not part of what the action recorded after it.
    return [is === undefined ? `${label}: was ${was}` : `${label}: ${was} → ${is}`]
  })
  return lines.length <= shownMax ? lines : [...lines.slice(0, shownMax), `and ${lines.length - shownMax} more`]
}

/** Settings are nested objects. */
function flat(value: unknown, prefix = ''): Map<string, string> {
  const found = new Map<string, string>()
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return found
  for (const [name, item] of Object.entries(value)) {
    if (item === null || item === '') continue
    const isObject = typeof item === 'object' && !Array.isArray(item)
    const parts = isObject ? flat(item, `${prefix}${name}.`) : [[prefix + name, shortened(item)] as const]
    for (const [key, text] of parts) found.set(key, text)
  }
  return found
}

function shortened(value: unknown): string {
  const isList = Array.isArray(value) && value.every((item) => typeof item === 'string')
  const text = typeof value === 'string' ? value : isList ? value.join(', ') : JSON.stringify(value)
  if (/^[0-9a-f]{40,64}$/.test(text)) return shortCommit(text)
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text)) return text.slice(0, 8)
  return text.length <= charsMax ? text : `${text.slice(0, charsMax)}…`
}
