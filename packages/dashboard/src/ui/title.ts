import { useEffect } from 'react'
import { visible } from './sanitizing-jsx/visible.ts'

/** Sets the title of the browser tab; null leaves it unchanged. */
export function useTitle(title: string | null): void {
  useEffect(() => {
    if (title !== null) document.title = title === '' ? 'svc' : `${visible(title)} · svc`
  }, [title])
}
