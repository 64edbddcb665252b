/** Follows one session: the stream sends the current state first, then each change. */
import type { Question } from '@svc/contract/routes/questions'
import type { SessionEvent } from '@svc/contract/routes/sessions'
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useReducer } from 'react'
import { followEvents } from '../../../cache/follow-events.ts'
import type { Message, Session } from '../queries.ts'

/** The messages that the stream sends first. The transcript has the earlier ones. */
const firstMessages = 50
/** Events within one frame render together. */
const gatherMs = 16

export interface SessionState {
  session: Session | null
  /** The newest messages, oldest of them first. */
  messages: Message[]
  questions: Question[]
  /** The stream has sent the current state. */
  isLoaded: boolean
  /** The messages are the whole conversation. */
  isWhole: boolean
  turn: 'busy' | 'idle' | 'error'
  /** The stream is down, and the browser reconnects. */
  isReconnecting: boolean
}

const initialState: SessionState = {
  session: null,
  messages: [],
  questions: [],
  isLoaded: false,
  isWhole: false,
  turn: 'idle',
  isReconnecting: false,
}

type Step = { kind: 'events'; events: SessionEvent[] } | { kind: 'disconnect' } | { kind: 'start' }

export function useSessionStream(projectId: string, sessionId: string): SessionState {
  const [state, step] = useReducer(next, initialState)
  const queries = useQueryClient()
  useEffect(() => {
    const address = `/v1/projects/${projectId}/sessions/${sessionId}/events?messages=${firstMessages}`
    let gathered: SessionEvent[] = []
    let timer: ReturnType<typeof setTimeout> | undefined
    const takeAll = () => {
      step({ kind: 'events', events: gathered })
      gathered = []
      timer = undefined
    }
    const take = ({ data }: MessageEvent<string>) => {
      const event = JSON.parse(data) as SessionEvent
      gathered.push(event)
      timer ??= setTimeout(takeAll, gatherMs)
      if (event.type === 'session')
        void queries.invalidateQueries({ queryKey: ['project', projectId, 'sessions'], exact: true })
    }
    const begin = (stream: EventSource) => {
      stream.addEventListener('open', () => step({ kind: 'start' }))
      for (const type of ['session', 'message', 'question', 'turn']) stream.addEventListener(type, take)
      stream.addEventListener('error', () => step({ kind: 'disconnect' }))
    }
    const end = followEvents(() => address, begin)
    return () => {
      clearTimeout(timer)
      end()
    }
  }, [projectId, sessionId, queries])
  return state
}

function next(state: SessionState, step: Step): SessionState {
  switch (step.kind) {
    case 'disconnect':
      return { ...state, isReconnecting: true }
    // Messages stay on screen until the stream sends them again. Questions start over: the stream sends the open ones.
    case 'start':
      return { ...state, questions: [], isReconnecting: false }
    case 'events':
      return step.events.reduce(afterEvent, state)
    default:
      return step satisfies never
  }
}

function afterEvent(state: SessionState, event: SessionEvent): SessionState {
  switch (event.type) {
    case 'session':
      return { ...state, session: event.session }
    case 'turn': {
      // The first turn event ends the current state. Fewer messages than requested are the whole conversation.
      const isWhole = state.isLoaded ? state.isWhole : state.messages.length < firstMessages
      return { ...state, turn: event.status, isLoaded: true, isWhole }
    }
    case 'message': {
      // Searches from the end, because usually the last message changes.
      const at = state.messages.findLastIndex(({ message_id }) => message_id === event.message.message_id)
      const messages = at < 0 ? [...state.messages, event.message] : state.messages.with(at, event.message)
      return { ...state, messages }
    }
    case 'question': {
      const { question } = event
      const others = state.questions.filter(({ question_id }) => question_id !== question.question_id)
      return { ...state, questions: question.status === 'open' ? [...others, question] : others }
    }
    default:
      return event satisfies never
  }
}
