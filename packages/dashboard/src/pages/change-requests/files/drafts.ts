/** Comments that were written and not sent yet, kept on this browser. */
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

export function useDrafts(crId: string) {
  const [drafts, keep] = useKept<DraftComment[]>(`svc-review-${crId}`, none)
  return {
    drafts,
    save: (draft: DraftComment) => keep([...drafts.filter(({ id }) => id !== draft.id), draft]),
    remove: (id: string) => keep(drafts.filter((draft) => draft.id !== id)),
    clear: () => keep(none),
  }
}
