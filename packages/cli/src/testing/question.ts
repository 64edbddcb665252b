import type { Question } from '@svc/sdk'

export const aQuestion = (changes: Partial<Question> = {}): Question => ({
  question_id: '99999999-9999-4999-8999-999999999999',
  kind: 'permission',
  title: 'Run a command',
  ...{ detail: 'npm publish', note: '' },
  options: [
    { value: 'once', label: 'Allow once' },
    { value: 'reject', label: 'Deny' },
  ],
  ...{ status: 'open', answer: null, asked_at: '2026-11-21T11:59:00.000Z', answered_by: null, reason: null },
  ...changes,
})

export const questionAnswers = {
  listQuestions: () => ({ questions: [aQuestion()] }),
  answerQuestion: ({ body }: { body: unknown }) =>
    aQuestion({ status: 'answered', answer: (body as { answer: string }).answer }),
}
