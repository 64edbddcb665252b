/** One session as it goes: the service tells first what is, then what changes. */
import type { Question } from '@svc/contract/questions'
import type { SessionEvent } from '@svc/contract/sessions'
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useReducer } from 'react'
import { followEvents } from '../../follow-events.ts'
import type { Message, Session } from '../../queries.ts'

/** Messages told at first; the transcript has those before them. */
const firstMessages = 50
/** What comes within a frame is drawn at once. */
const gatherMs = 16

export interface SessionState {
  session: Session | null
  /** The newest, oldest first. */
  messages: Message[]
  /** Those that are open, oldest first. */
  questions: Question[]
  /** What is was told, and with it the whole conversation. */
  isTold: boolean
  isWhole: boolean
  turn: 'busy' | 'idle' | 'error'
  /** The stream is down; the browser tries again by itself. */
  isAway: boolean
}

const nothingYet: SessionState = {
  session: null,
  messages: [],
  questions: [],
  isTold: false,
  isWhole: false,
  turn: 'idle',
  isAway: false,
}

type Step = { kind: 'events'; events: SessionEvent[] } | { kind: 'away' } | { kind: 'start' }

export function useSessionStream(projectId: string, sessionId: string): SessionState {
  const [state, step] = useReducer(next, nothingYet)
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
      stream.addEventListener('error', () => step({ kind: 'away' }))
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
    case 'away':
      return { ...state, isAway: true }
    // Messages stay on screen until the stream sends them again. Questions start over: the stream sends the open ones.
    case 'start':
      return { ...state, questions: [], isAway: false }
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
      // The first one ends what is. Fewer than were asked for are all there are.
      const isWhole = state.isTold ? state.isWhole : state.messages.length < firstMessages
      return { ...state, turn: event.status, isTold: true, isWhole }
    }
    case 'message': {
      // From the end: it is nearly always the last one that grows.
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
