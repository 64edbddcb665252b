import type { AuditEvent } from './queries.ts'

/** The fields that name an object, the best one first. */
const fields = ['name', 'title', 'email', 'conversation_name', 'chat_user_name', 'slug', 'to']

/** The newest names of objects by their ids: the event that revokes a token has none, but the one that created it has. */
export function namesIn(events: readonly AuditEvent[]): ReadonlyMap<string, string> {
  const names = new Map<string, string>()
  for (const { object_id: id, object_name: now, before, after } of events) {
    const name = now ?? nameIn(after) ?? nameIn(before)
    if (name !== null && !names.has(id)) names.set(id, name)
  }
  return names
}

function nameIn(recorded: unknown): string | null {
  if (typeof recorded !== 'object' || recorded === null) return null
  const values = new Map<string, unknown>(Object.entries(recorded))
  const found = fields.map((field) => values.get(field)).find((value) => typeof value === 'string' && value !== '')
  return typeof found === 'string' ? found : null
}
