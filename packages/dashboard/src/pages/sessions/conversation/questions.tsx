import { useState } from 'react'
import type { Question } from '@svc/contract/routes/questions'
import { Failure, useSend } from '../../../components/requests.tsx'
import { useWriteRefusal } from '../../../components/role.ts'
import { pathOf, type Session } from '../queries.ts'
import { Button, Form, TextArea } from '../../../ui/form.tsx'
import { Card, Rows } from '../../../ui/layout.tsx'
import { Time } from '../../../ui/text.tsx'

/** The agent's questions. Connector calls have their own card. */
export function Questions({ session, questions }: { session: Session; questions: Question[] }) {
  const own = questions.filter(({ kind }) => kind !== 'connector')
  if (own.length === 0) return null
  return (
    <Card title="Waiting for you">
      <Rows label="Questions from the agent">
        {own.map((question) => (
          <QuestionRow key={question.question_id} session={session} question={question} />
        ))}
      </Rows>
    </Card>
  )
}

function QuestionRow({ session, question }: { session: Session; question: Question }) {
  const [text, setText] = useState('')
  const { kind, title, detail, options } = question
  const path = { ...pathOf(session), questionId: question.question_id }
  const answer = useSend('POST', '/v1/projects/{projectId}/sessions/{sessionId}/questions/{questionId}/answer', {
    path,
  })
  const roleRefusal = useWriteRefusal(session.account_id)
  const refusal = roleRefusal ?? (text.trim() === '' ? 'Enter an answer' : null)
  const submit = () => refusal === null && !answer.isPending && answer.mutate({ answer: text })
  return (
    <li className="flex flex-col gap-2 px-4 py-3 text-sm">
      {answer.error !== null && <Failure error={answer.error} />}
      <p className="flex flex-wrap items-baseline gap-x-2">
        <span className="min-w-0 font-medium break-words">
          {kind === 'permission' ? `The agent asks for permission: ${title}` : title}
        </span>
        <Time at={question.asked_at} />
      </p>
      {detail !== '' && (
        <pre
          tabIndex={0}
          aria-label={`Details: ${title}`}
          className="max-h-60 overflow-auto rounded-md border border-line bg-raised p-3 font-mono text-xs break-words whitespace-pre-wrap"
        >
          {detail}
        </pre>
      )}
      {options.length > 0 && (
        <p className="flex flex-wrap gap-2">
          {options.map(({ value, label }, i) => (
            <Button
              key={value}
              kind={kind === 'permission' && i === 0 ? 'primary' : 'plain'}
              busy={answer.isPending}
              disabledReason={roleRefusal}
              onClick={() => answer.mutate({ answer: value })}
            >
              {label}
            </Button>
          ))}
        </p>
      )}
      {kind === 'question' && (
        <Form className="flex flex-col gap-2" onSubmit={submit}>
          <TextArea
            label={options.length > 0 ? 'Or answer in your own words' : 'Your answer'}
            value={text}
            onChange={setText}
            onSend={submit}
            rows={1}
          />
          <p className="flex justify-end">
            <Button type="submit" busy={answer.isPending} disabledReason={refusal}>
              Send answer
            </Button>
          </p>
        </Form>
      )}
    </li>
  )
}
