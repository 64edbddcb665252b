import type { ChangeRequest } from '../queries.ts'
import { Conversation } from './conversation.tsx'
import { MergeBox } from '../merge/merge-box.tsx'

export default function ConversationTab({ cr }: { cr: ChangeRequest }) {
  return (
    <>
      <Conversation cr={cr} />
      <MergeBox cr={cr} />
    </>
  )
}
