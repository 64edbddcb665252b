/** What people answered the agent, each in one line below the message in which it asked. */
import type { Question } from '@svc/contract/routes/questions'
import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { UserName } from '../../../components/user-name.tsx'
import { answeredQuestions, type Message, type Session } from '../queries.ts'

/** By the message. Those to messages that are not loaded are left out. */
export function useAnswers(session: Session, messages: readonly Message[]): Map<string, Question[]> {
  const { data } = useQuery(answeredQuestions(session))
  return useMemo(() => {
    const placed = new Map<string, Question[]>()
    // Newest first as they come; in a message the oldest is the first line.
    for (const question of data?.toReversed() ?? []) {
      const at = messages.findLast(({ created_at }) => created_at <= question.asked_at)
      if (at !== undefined) placed.set(at.message_id, [...(placed.get(at.message_id) ?? []), question])
    }
    return placed
  }, [data, messages])
}

export function Answers({ session, questions }: { session: Session; questions: Question[] | undefined }) {
  if (questions === undefined) return null
  return (
    <ul aria-label="Answers to the agent" className="mt-2 flex flex-col gap-1 pl-8 text-sm text-dim">
      {questions.map((question) => (
        <li key={question.question_id} className="truncate" title={fullText(question)}>
          {question.title}: <strong className="font-semibold text-text">{answerOf(question)}</strong> ·{' '}
          <UserName accountId={session.account_id} userId={question.answered_by} />
        </li>
      ))}
    </ul>
  )
}

const answerOf = ({ answer, options }: Question) => options.find(({ value }) => value === answer)?.label ?? answer ?? ''

const fullText = (question: Question) =>
  [question.title, question.detail, answerOf(question)].filter((text) => text !== '').join('\n')
