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

export function readStored<T>(key: string, fallback: T): T {
  const text = localStorage.getItem(key)
  const known = parsed.get(key)
  if (known !== undefined && known.text === text) return (known.value ?? fallback) as T
  const value: unknown = text === null ? null : parse(text)
  parsed.set(key, { text, value })
  return (value ?? fallback) as T
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return unreadableEntry()
  }
}

/** Another program wrote it, or it was cut short: the fallback applies. */
function unreadableEntry(): null {
  return null
}

export function writeStored<T>(key: string, fallback: T, next: T): void {
  try {
    if (next === fallback) localStorage.removeItem(key)
    else localStorage.setItem(key, JSON.stringify(next))
  } catch {
    keepUntilClosed(key, next)
  }
  for (const listener of listeners) listener()
}

/** Storage is full or forbidden: the value lasts until the page is closed. */
function keepUntilClosed(key: string, value: unknown): void {
  parsed.set(key, { text: localStorage.getItem(key), value })
}
