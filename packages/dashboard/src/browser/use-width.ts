import { useSyncExternalStore } from 'react'

/** Whether the window is at least so many pixels wide, now and after it is resized. A larger font needs more, as in the styles. */
export function useIsAtLeast(px: number): boolean {
  return useSyncExternalStore(onResize, () => matchMedia(`(width>=${px / 16}rem)`).matches)
}

function onResize(changed: () => void): () => void {
  addEventListener('resize', changed)
  return () => removeEventListener('resize', changed)
}
