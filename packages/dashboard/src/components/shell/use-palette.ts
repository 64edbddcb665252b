import { useCallback, useEffect, useLayoutEffect, useState } from 'react'
import { isCovered, isTyped } from '../../ui/keys.ts'

/** Ctrl+K or Cmd+K anywhere, and `/` outside a field, open the palette. From then on, what is typed is its text. */
export function usePalette() {
  /** Null while it is closed. */
  const [text, setText] = useState<string | null>(null)
  const [hasFocus, setFocus] = useState(false)
  const open = () => setText((current) => current ?? '')
  const close = useCallback(() => {
    setText(null)
    setFocus(false)
  }, [])
  /** A palette that was closed meanwhile stays closed. */
  const edit = (change: (text: string) => string) => setText((current) => (current === null ? null : change(current)))
  useOpeningKey(open)
  useEarlyKeys(text !== null && !hasFocus, { edit, close })
  return { text, open, close, onText: (next: string) => edit(() => next), onFocus: () => setFocus(true) }
}

function useOpeningKey(open: () => void): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const isCommand = (event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === 'k'
      const isSlash = event.key === '/' && !event.ctrlKey && !event.metaKey && !event.altKey && !isTyped(event)
      if (!isCommand && !(isSlash && !isCovered())) return
      event.preventDefault()
      open()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  })
}

/** The code of the palette may be loading, and its field gets the focus a moment after it is drawn. */
function useEarlyKeys(
  isOn: boolean,
  { edit, close }: { edit: (change: (text: string) => string) => void; close: () => void },
): void {
  // Before the next key, which an effect may miss.
  useLayoutEffect(() => {
    if (!isOn) return undefined
    const onKey = (event: KeyboardEvent) => {
      const { key, ctrlKey, metaKey, altKey } = event
      if (ctrlKey || metaKey || altKey) return
      event.preventDefault()
      event.stopImmediatePropagation()
      if (key === 'Escape') close()
      else if (key === 'Backspace') edit((text) => text.slice(0, -1))
      else if (key.length === 1) edit((text) => text + key)
    }
    addEventListener('keydown', onKey, { capture: true })
    return () => removeEventListener('keydown', onKey, { capture: true })
  })
}
