/** Pending comments, stored in this browser. */
import { useMemo } from 'react'
import { useStored } from '../../../browser/use-stored.ts'

export interface DraftComment {
  id: string
  path: string
  side: 'old' | 'new'
  line: number
  start_line: number | null
  quote: string
  text: string
}

const none: DraftComment[] = []

export interface Drafts {
  drafts: DraftComment[]
  save: (draft: DraftComment) => void
  remove: (id: string) => void
  clear: () => void
}

/** The setters are stable, so that the viewer does not render again without a change. */
export function useDrafts(crId: string): Drafts {
  const [drafts, store] = useStored<DraftComment[]>(`svc-review-${crId}`, none)
  const setters = useMemo(
    () => ({
      save: (draft: DraftComment) => store((before) => [...before.filter(({ id }) => id !== draft.id), draft]),
      remove: (id: string) => store((before) => before.filter((draft) => draft.id !== id)),
      clear: () => store(none),
    }),
    [store],
  )
  return { drafts, ...setters }
}
