import type { SelectedLineRange } from '@pierre/diffs'
import { useState } from 'react'
import { useStored } from '../../../browser/use-stored.ts'
import type { ChangedFile } from '../files/changed-files.ts'
import { draftAt, type DraftComment } from './draft-at.ts'

const none: DraftComment[] = []

export type Drafts = ReturnType<typeof useDrafts>

/** Pending comments, stored in this browser. At most one of them is being edited. */
export function useDrafts(crId: string) {
  const [drafts, store] = useStored<DraftComment[]>(`svc-review-${crId}`, none)
  const [openId, setOpenId] = useState<string | null>(null)
  const put = (draft: DraftComment) => store((before) => [...before.filter(({ id }) => id !== draft.id), draft])
  return {
    drafts,
    openId,
    begin(file: ChangedFile, range: SelectedLineRange) {
      const draft = draftAt(file, range)
      setOpenId(draft.id)
      put(draft)
    },
    edit: ({ id }: DraftComment) => setOpenId(id),
    save(draft: DraftComment, text: string) {
      put({ ...draft, text })
      setOpenId(null)
    },
    remove({ id }: DraftComment) {
      store((before) => before.filter((draft) => draft.id !== id))
      setOpenId(null)
    },
    clear: () => store(none),
  }
}
