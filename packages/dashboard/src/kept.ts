/** Small things this browser remembers: what was viewed, drafts. Losing them loses no work of anybody else. */
import { useCallback, useSyncExternalStore } from 'react'

const listeners = new Set<() => void>()
const parsed = new Map<string, { text: string | null; value: unknown }>()

type Next<T> = T | ((before: T) => T)

/** `fallback` has to be the same object at every call; the setter then is too. */
export function useKept<T>(key: string, fallback: T): [T, (next: Next<T>) => void] {
  const value = useSyncExternalStore(subscribe, () => keptNow(key, fallback))
  const keep = useCallback(
    (next: Next<T>) => write(key, fallback, isUpdate(next) ? next(keptNow(key, fallback)) : next),
    [key, fallback],
  )
  return [value, keep]
}

function isUpdate<T>(next: Next<T>): next is (before: T) => T {
  return typeof next === 'function'
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  addEventListener('storage', listener)
  return () => {
    listeners.delete(listener)
    removeEventListener('storage', listener)
  }
}

export function keptNow<T>(key: string, fallback: T): T {
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

function write<T>(key: string, fallback: T, next: T): void {
  try {
    if (next === fallback) localStorage.removeItem(key)
    else localStorage.setItem(key, JSON.stringify(next))
  } catch {
    // Storage is full or forbidden: it works until the page is closed.
    parsed.set(key, { text: localStorage.getItem(key), value: next })
  }
  for (const listener of listeners) listener()
}
