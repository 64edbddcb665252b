import { useRef, useState } from 'react'
import { useStored } from '../../../browser/use-stored.ts'
import type { Prompt, Session } from '../queries.ts'
import { useChosenFiles } from './attach-files.tsx'

export interface Choice {
  agent?: string
  /** Null is the default model. */
  model?: string | null
}

export type Draft = ReturnType<typeof useDraft>

/** The next prompt of a session. Its text survives a reload. */
export function useDraft({ project_id: projectId, session_id: sessionId }: Session) {
  const [text, setText] = useStored(`svc-prompt-${sessionId}`, '')
  const chosen = useChosenFiles()
  /** The agent and the model from the next prompt on, where they change. */
  const [choice, setChoice] = useState<Choice>({})
  const field = useRef<HTMLTextAreaElement>(null)
  return {
    text,
    setText,
    chosen,
    choice,
    setChoice,
    /** The element of the text. */
    field,
    /** Puts a cancelled prompt with its files behind what is written already. */
    async takeBack({ text: taken, attachments }: Prompt) {
      setText((before) => [before.trimEnd(), taken].filter((each) => each !== '').join('\n\n'))
      field.current?.focus()
      const address = `/v1/projects/${projectId}/sessions/${sessionId}/attachments`
      chosen.add(
        await Promise.all(
          attachments.map(async ({ attachment_id: id, name, content_type: type }) => {
            const reply = await fetch(`${address}/${id}`)
            if (!reply.ok) throw new Error(`Couldn't read the attachment ${name}. Attach it again.`)
            return new File([await reply.blob()], name, { type })
          }),
        ),
      )
    },
  }
}
