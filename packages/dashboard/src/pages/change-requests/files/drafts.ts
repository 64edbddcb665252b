/** Comments that were written and not sent yet, kept on this browser. */
import { useMemo } from 'react'
import { useKept } from '../../../kept.ts'

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

/** The setters stay the same, so that the viewer is not told of a change that is none. */
export function useDrafts(crId: string): Drafts {
  const [drafts, keep] = useKept<DraftComment[]>(`svc-review-${crId}`, none)
  const setters = useMemo(
    () => ({
      save: (draft: DraftComment) => keep((before) => [...before.filter(({ id }) => id !== draft.id), draft]),
      remove: (id: string) => keep((before) => before.filter((draft) => draft.id !== id)),
      clear: () => keep(none),
    }),
    [keep],
  )
  return { drafts, ...setters }
}
