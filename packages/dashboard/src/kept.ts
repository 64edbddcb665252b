/** Small things this browser remembers: what was viewed, drafts. Losing them loses no work of anybody else. */
import { useSyncExternalStore } from 'react'

const listeners = new Set<() => void>()
const parsed = new Map<string, { text: string | null; value: unknown }>()

function read<T>(key: string, fallback: T): T {
  const text = localStorage.getItem(key)
  const known = parsed.get(key)
  if (known !== undefined && known.text === text) return (known.value ?? fallback) as T
  let value: unknown = null
  try {
    value = text === null ? null : JSON.parse(text)
  } catch {
    // Not ours, or cut short: as if it were not there.
  }
  parsed.set(key, { text, value })
  return (value ?? fallback) as T
}

/** `fallback` has to be the same object at every call. */
export function useKept<T>(key: string, fallback: T): [T, (value: T) => void] {
  const value = useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      addEventListener('storage', listener)
      return () => {
        listeners.delete(listener)
        removeEventListener('storage', listener)
      }
    },
    () => read(key, fallback),
  )
  return [
    value,
    (next) => {
      try {
        if (next === fallback) localStorage.removeItem(key)
        else localStorage.setItem(key, JSON.stringify(next))
      } catch {
        // Storage is full or forbidden: it works until the page is closed.
        parsed.set(key, { text: localStorage.getItem(key), value: next })
      }
      for (const listener of listeners) listener()
    },
  ]
}
