/** What the agent asks. It is the loudest thing on the page, because the agent waits. */
import { type ReactNode, useEffect, useRef, useState } from 'react'
import type { Question } from '@svc/contract/routes/questions'
import { withoutNote } from '@svc/contract/schemas/question-note'
import { AnswerButtons, permissionTitle, RequestCard } from '../../../components/request-card.tsx'
import { useSend } from '../../../components/requests.tsx'
import { useWriteRefusal } from '../../../components/role.ts'
import { Kbd } from '../../../ui/kbd.tsx'
import { isCovered, isTyped } from '../../../ui/keys.ts'
import { pathOf, type Session } from '../queries.ts'
import { Button, Form, TextArea } from '../../../ui/form.tsx'

/** The agent's questions. Connector calls have their own card. */
export function Questions({ session, questions }: { session: Session; questions: Question[] }) {
  const own = questions.filter(({ kind }) => kind !== 'connector')
  if (own.length === 0) return null
  return (
    <ul aria-label="Questions from the agent" className="flex flex-col gap-3">
      {own.map((question, at) => (
        <li key={question.question_id}>
          <QuestionCard session={session} question={question} hasKey={at === 0} />
        </li>
      ))}
    </ul>
  )
}

function QuestionCard({ session, question, hasKey }: { session: Session; question: Question; hasKey: boolean }) {
  const [text, setText] = useState('')
  const { kind, title, options } = question
  // A server of the version before sends no note.
  const note = (question as Partial<Question>).note ?? ''
  const about = withoutNote(question)
  const path = { ...pathOf(session), questionId: question.question_id }
  const answer = useSend('POST', '/v1/projects/{projectId}/sessions/{sessionId}/questions/{questionId}/answer', {
    path,
  })
  const roleRefusal = useWriteRefusal(session.account_id)
  const refusal = roleRefusal ?? (text.trim() === '' ? 'Enter an answer' : null)
  const submit = () => refusal === null && !answer.isPending && answer.mutate({ answer: text })
  const first = options[0]?.value
  useAnswerKey(hasKey && first !== undefined && roleRefusal === null && !answer.isPending, () =>
    answer.mutate({ answer: first! }),
  )
  return (
    <RequestCard
      title={kind === 'permission' ? permissionTitle(title) : title}
      at={question.asked_at}
      details={{ label: `Details: ${title}`, text: about }}
      error={answer.error}
    >
      {note !== '' && <p className="text-sm wrap-anywhere">{note}</p>}
      {options.length > 0 && (
        <AnswerButtons>
          {options.map(({ value, label }, at) => (
            <Button
              key={value}
              kind={at === 0 ? 'primary' : 'plain'}
              busy={answer.isPending}
              disabledReason={roleRefusal}
              aria-keyshortcuts={hasKey && at === 0 ? answerKey : undefined}
              onClick={() => answer.mutate({ answer: value })}
            >
              <Label hasKey={hasKey && at === 0}>{label}</Label>
            </Button>
          ))}
        </AnswerButtons>
      )}
      {kind === 'question' && (
        <Form className="flex flex-col gap-2" onSubmit={submit}>
          <TextArea
            label={options.length > 0 ? 'Or answer in your own words' : 'Your answer'}
            value={text}
            onChange={setText}
            onSend={submit}
            rows={2}
          />
          <p className="flex justify-end">
            <Button type="submit" busy={answer.isPending} disabledReason={refusal}>
              Send answer
            </Button>
          </p>
        </Form>
      )}
    </RequestCard>
  )
}

function Label({ hasKey, children }: { hasKey: boolean; children: ReactNode }) {
  if (!hasKey) return children
  return (
    <>
      {children}
      <span aria-hidden className="max-md:hidden">
        <Kbd>A</Kbd>
      </span>
    </>
  )
}

const answerKey = 'a'

/** The key presses the first answer of the first question. */
function useAnswerKey(isOn: boolean, press: () => void): void {
  const latest = useRef(press)
  useEffect(() => {
    latest.current = press
  })
  useEffect(() => {
    if (!isOn) return undefined
    const onKey = (event: KeyboardEvent) => {
      const { key, ctrlKey, metaKey, altKey, repeat } = event
      if (key !== answerKey || ctrlKey || metaKey || altKey || repeat || isTyped(event) || isCovered()) return
      event.preventDefault()
      latest.current()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [isOn])
}
