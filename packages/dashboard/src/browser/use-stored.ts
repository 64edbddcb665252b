import { useCallback, useSyncExternalStore } from 'react'
import { readStored, subscribeToStorage, writeStored } from './storage.ts'

type Next<T> = T | ((before: T) => T)

/** A value that this browser stores. `fallback` must be the same object on every render; then the setter is stable too. */
export function useStored<T>(key: string, fallback: T, area?: Storage): [T, (next: Next<T>) => void] {
  const value = useSyncExternalStore(subscribeToStorage, () => readStored(key, fallback, area))
  const store = useCallback(
    (next: Next<T>) => writeStored(key, fallback, isUpdate(next) ? next(readStored(key, fallback, area)) : next, area),
    [key, fallback, area],
  )
  return [value, store]
}

/** What a person typed and did not send. This tab keeps it when they leave the page or load it again. */
export function useTyped<T>(key: string, nothing: T) {
  return useStored(key, nothing, sessionStorage)
}

function isUpdate<T>(next: Next<T>): next is (before: T) => T {
  return typeof next === 'function'
}
