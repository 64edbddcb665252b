import { useRef, useState } from 'react'
import { useStored } from '../../../browser/use-stored.ts'
import type { Prompt, Session } from '../queries.ts'
import { useChosenFiles } from './attach-files.tsx'

export interface Choice {
  agent?: string
  /** Null is the default model. */
  model?: string | null
}

/** A prompt that was sent from here. */
export interface Outgoing {
  id: string
  text: string
  choice: Choice
  files: readonly File[]
  sentAt: string
  /** Null until the server has it. */
  promptId: string | null
}

/** Older ones are in the conversation. */
const outgoingMax = 50

export type Draft = ReturnType<typeof useDraft>

/** The next prompt of a session. Its text survives a reload. */
export function useDraft({ project_id: projectId, session_id: sessionId }: Session) {
  const [text, setText] = useStored(`svc-prompt-${sessionId}`, '')
  const chosen = useChosenFiles(`prompt-${sessionId}`)
  /** The agent and the model from the next prompt on, where they change. */
  const [choice, setChoice] = useState<Choice>({})
  const [outgoing, setOutgoing] = useState<readonly Outgoing[]>([])
  const field = useRef<HTMLTextAreaElement>(null)
  return {
    text,
    setText,
    chosen,
    choice,
    setChoice,
    /** The element of the text. */
    field,
    /** Oldest first. */
    outgoing,
    /** Empties the field, so that the next prompt can be written while this one is on its way. */
    take(): Outgoing {
      const files = chosen.files.map(({ file }) => file)
      const sentAt = new Date().toISOString()
      const taken = { id: crypto.randomUUID(), text, choice, files, sentAt, promptId: null }
      setOutgoing((before) => [...before.slice(1 - outgoingMax), taken])
      setText('')
      chosen.clear()
      return taken
    },
    arrived({ id, choice: sent }: Outgoing, promptId: string) {
      setOutgoing((before) => before.map((each) => (each.id === id ? { ...each, promptId } : each)))
      // The session has the choice from now on, unless another one was made meanwhile.
      setChoice((now) => (now === sent ? {} : now))
    },
    /** Puts a prompt that was not accepted before what was written meanwhile. */
    putBack({ id, text: taken, files }: Outgoing) {
      setOutgoing((before) => before.filter((each) => each.id !== id))
      setText((now) => [taken, now].filter((each) => each.trim() !== '').join('\n\n'))
      chosen.add(files)
    },
    /** Puts a prompt that got no answer, with its files, behind what is written already, unless it is there. */
    async takeBack({ text: taken, attachments }: Pick<Prompt, 'text' | 'attachments'>) {
      setText((before) =>
        before.includes(taken) ? before : [before.trimEnd(), taken].filter((each) => each !== '').join('\n\n'),
      )
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
