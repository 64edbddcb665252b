import { useLocation } from '@tanstack/react-router'
import { useState } from 'react'

const kept = new Map<string, unknown>()
const keptMax = 100

/** State that Back and Forward find as it was left; another visit begins with `first`. */
export function useKept<T>(name: string, first: T): [T, (next: T) => void] {
  const entry = useLocation({ select: ({ state }) => `${name} ${state.__TSR_key}` })
  const [value, setValue] = useState(() => (kept.has(entry) ? (kept.get(entry) as T) : first))
  const keep = (next: T) => {
    kept.set(entry, next)
    if (kept.size > keptMax) kept.delete(kept.keys().next().value!)
    setValue(next)
  }
  return [value, keep]
}
