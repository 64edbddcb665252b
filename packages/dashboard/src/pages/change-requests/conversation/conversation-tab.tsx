import type { ChangeRequest } from '../queries.ts'
import { Conversation } from './conversation.tsx'
import { MergeBox } from '../merge/merge-box.tsx'

export default function ConversationTab({ projectId, cr }: { projectId: string; cr: ChangeRequest }) {
  return (
    <>
      <Conversation projectId={projectId} cr={cr} />
      <MergeBox projectId={projectId} cr={cr} />
    </>
  )
}
