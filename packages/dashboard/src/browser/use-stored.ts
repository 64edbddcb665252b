import { useCallback, useSyncExternalStore } from 'react'
import { readStored, subscribeToStorage, writeStored } from './local-storage.ts'

type Next<T> = T | ((before: T) => T)

/** A value that this browser stores. `fallback` must be the same object on every render; then the setter is stable too. */
export function useStored<T>(key: string, fallback: T): [T, (next: Next<T>) => void] {
  const value = useSyncExternalStore(subscribeToStorage, () => readStored(key, fallback))
  const store = useCallback(
    (next: Next<T>) => writeStored(key, fallback, isUpdate(next) ? next(readStored(key, fallback)) : next),
    [key, fallback],
  )
  return [value, store]
}

function isUpdate<T>(next: Next<T>): next is (before: T) => T {
  return typeof next === 'function'
}
