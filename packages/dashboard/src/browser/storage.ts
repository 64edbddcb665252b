import { parseJson } from '@svc/contract/json'

const listeners = new Set<() => void>()
const parsed = new Map<string, { text: string | null; value: unknown }>()

export function subscribeToStorage(listener: () => void): () => void {
  listeners.add(listener)
  addEventListener('storage', listener)
  return () => {
    listeners.delete(listener)
    removeEventListener('storage', listener)
  }
}

/** `area`: all tabs of this browser, or `sessionStorage` for this tab alone. */
export function readStored<T>(key: string, fallback: T, area: Storage = localStorage): T {
  const text = area.getItem(key)
  const known = parsed.get(key)
  if (known !== undefined && known.text === text) return (known.value ?? fallback) as T
  // Undefined for an entry that another program wrote or that was cut short: the fallback applies.
  const value = text === null ? null : parseJson(text)
  parsed.set(key, { text, value })
  return (value ?? fallback) as T
}

export function writeStored<T>(key: string, fallback: T, next: T, area: Storage = localStorage): void {
  try {
    if (next === fallback) area.removeItem(key)
    else area.setItem(key, JSON.stringify(next))
  } catch {
    keepUntilClosed(key, next, area)
  }
  for (const listener of listeners) listener()
}

/** Storage is full or forbidden: the value lasts until the page is closed. */
function keepUntilClosed(key: string, value: unknown, area: Storage): void {
  parsed.set(key, { text: area.getItem(key), value })
}
