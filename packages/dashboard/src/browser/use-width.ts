import { useSyncExternalStore } from 'react'

/** Whether the window is at least so many pixels wide, now and after it is resized. */
export function useIsAtLeast(px: number): boolean {
  return useSyncExternalStore(onResize, () => innerWidth >= px)
}

function onResize(changed: () => void): () => void {
  addEventListener('resize', changed)
  return () => removeEventListener('resize', changed)
}
