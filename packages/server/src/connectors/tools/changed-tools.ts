/** Detects tools whose description changed after users set a policy for them. */
import type { KnownTool } from '../../db/columns.ts'

export interface ChangedTool {
  name: string
  /** It asked by default before, and now calls itself read-only. */
  becameReadOnly: boolean
}

/** Includes removed tools, which may come back different, but no new ones. */
export function changedTools(before: readonly KnownTool[], after: readonly KnownTool[]): ChangedTool[] {
  const now = new Map(after.map((tool) => [tool.name, tool]))
  return before.flatMap((was) => {
    const is = now.get(was.name)
    if (is !== undefined && canonical(was) === canonical(is)) return []
    return [{ name: was.name, becameReadOnly: !was.read_only && is?.read_only === true }]
  })
}

/** Equal values give equal text, whatever the order of their keys. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const pairs = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${pairs.map(([key, inner]) => `${JSON.stringify(key)}:${canonical(inner)}`).join(',')}}`
}
