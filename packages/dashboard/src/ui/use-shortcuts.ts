import { useEffect } from 'react'
import { isCovered, isTyped } from './keys.ts'

/** Single-key shortcuts, except while the user types or a menu or dialog is open. */
export function useShortcuts(actions: Record<string, () => void>): void {
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
}
