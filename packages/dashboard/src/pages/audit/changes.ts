/** What an audit row tells of before and after, a line each. */
const shownMax = 6
const charsMax = 120

export function changes(before: unknown, after: unknown): string[] {
  const [old, now] = [flat(before), flat(after)]
  const lines = [...new Set([...old.keys(), ...now.keys()])].flatMap((name) => {
    const [was, is] = [old.get(name), now.get(name)]
    if (was === is) return []
    if (was === undefined) return [`${name}: ${is}`]
    return [`${name}: ${was} → ${is ?? 'none'}`]
  })
  return lines.length <= shownMax ? lines : [...lines.slice(0, shownMax), `and ${lines.length - shownMax} more`]
}

/** Settings are a table within a table. */
function flat(value: unknown, prefix = ''): Map<string, string> {
  const found = new Map<string, string>()
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return found
  for (const [name, item] of Object.entries(value)) {
    if (item === null || item === '') continue
    const isTable = typeof item === 'object' && !Array.isArray(item)
    const parts = isTable ? flat(item, `${prefix}${name}.`) : [[prefix + name, shortened(item)] as const]
    for (const [key, text] of parts) found.set(key, text)
  }
  return found
}

function shortened(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  if (/^[0-9a-f]{40,64}$/.test(text)) return text.slice(0, 12)
  return text.length <= charsMax ? text : `${text.slice(0, charsMax)}…`
}
