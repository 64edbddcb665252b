/** Whether a server still describes its tools as it did when people decided about them. */
import type { KnownTool } from '../db/connector-tables.ts'

export interface ChangedTool {
  name: string
  /** It asked a person before, by default, and calls itself read-only now. */
  becameReadOnly: boolean
}

/** Those that read differently or are gone: one that comes back later need not be the one it was. A new tool is none of them. */
export function changedTools(before: readonly KnownTool[], after: readonly KnownTool[]): ChangedTool[] {
  const now = new Map(after.map((tool) => [tool.name, tool]))
  return before.flatMap((was) => {
    const is = now.get(was.name)
    if (is !== undefined && canonical(was) === canonical(is)) return []
    return [{ name: was.name, becameReadOnly: !was.read_only && is?.read_only === true }]
  })
}

/** The same text for the same value, in whatever order its names came. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const pairs = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${pairs.map(([key, inner]) => `${JSON.stringify(key)}:${canonical(inner)}`).join(',')}}`
}
