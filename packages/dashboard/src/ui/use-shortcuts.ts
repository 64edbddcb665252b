import { useEffect } from 'react'
import { isCovered, isTyped } from './keys.ts'

export type KeyName = readonly [key: string, what: string]

const none: readonly KeyName[] = []
const named = new Set<readonly KeyName[]>()

/** The keys of what is open, for the list that `?` shows. */
export function namedKeys(): KeyName[] {
  return [...named].flat()
}

/**
 * Single-key shortcuts, except while the user types or a menu or dialog is open. `names` describes them, and any other
 * keys of the same part of the page; it must be the same array in each render.
 */
export function useShortcuts(actions: Record<string, () => void>, names = none): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (isTyped(event) || event.ctrlKey || event.metaKey || event.altKey || isCovered()) return
      const action = actions[event.key]
      if (action === undefined) return
      event.preventDefault()
      action()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [actions])
  useEffect(() => {
    named.add(names)
    return () => void named.delete(names)
  }, [names])
}

/** Once no menu covers the page any longer. */
export function showShortcuts(): void {
  setTimeout(() => dispatchEvent(new KeyboardEvent('keydown', { key: '?' })))
}
