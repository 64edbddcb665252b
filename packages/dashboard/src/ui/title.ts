import { useEffect } from 'react'
import { visible } from './drawn/visible.ts'

/** What the browser's tab and its history call the page; null leaves that to somebody else. */
export function useTitle(words: string | null): void {
  useEffect(() => {
    if (words !== null) document.title = words === '' ? 'svc' : `${visible(words)} · svc`
  }, [words])
}
