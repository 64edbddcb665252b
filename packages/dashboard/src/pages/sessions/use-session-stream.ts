/** One session as it goes: the service tells first what is, then what changes. */
import type { SessionEvent } from '@svc/contract/sessions'
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useReducer } from 'react'
import type { Message, Session } from '../../queries.ts'

export interface SessionState {
  session: Session | null
  messages: Message[]
  turn: 'busy' | 'idle' | 'error'
  turnError: string | null
  /** The stream is down; the browser tries again by itself. */
  isAway: boolean
}

const nothingYet: SessionState = { session: null, messages: [], turn: 'idle', turnError: null, isAway: false }

type Step = { kind: 'event'; event: SessionEvent } | { kind: 'away' } | { kind: 'start' }

export function useSessionStream(projectId: string, sessionId: string): SessionState {
  const [state, step] = useReducer(next, nothingYet)
  const queries = useQueryClient()
  useEffect(() => {
    const stream = new EventSource(`/v1/projects/${projectId}/sessions/${sessionId}/events`)
    const take = ({ data }: MessageEvent<string>) => {
      const event = JSON.parse(data) as SessionEvent
      step({ kind: 'event', event })
      if (event.type === 'session')
        void queries.invalidateQueries({ queryKey: ['project', projectId, 'sessions'], exact: true })
    }
    stream.addEventListener('open', () => step({ kind: 'start' }))
    for (const type of ['session', 'message', 'turn']) stream.addEventListener(type, take)
    stream.addEventListener('error', () => step({ kind: 'away' }))
    return () => stream.close()
  }, [projectId, sessionId, queries])
  return state
}

function next(state: SessionState, step: Step): SessionState {
  switch (step.kind) {
    case 'away':
      return { ...state, isAway: true }
    // What is kept on screen until the service has told it again.
    case 'start':
      return { ...state, isAway: false }
    case 'event':
      return afterEvent(state, step.event)
    default:
      return step satisfies never
  }
}

function afterEvent(state: SessionState, event: SessionEvent): SessionState {
  switch (event.type) {
    case 'session':
      return { ...state, session: event.session }
    case 'turn':
      return { ...state, turn: event.status, turnError: event.error }
    case 'message': {
      const at = state.messages.findIndex(({ message_id }) => message_id === event.message.message_id)
      const messages = at < 0 ? [...state.messages, event.message] : state.messages.with(at, event.message)
      return { ...state, messages }
    }
    default:
      return event satisfies never
  }
}
