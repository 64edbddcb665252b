/** Questions an agent has for a person: permissions and questions of its runtime, and connector calls that need approval. */
import { z } from 'zod'
import { named, page, route, timestamp, uuid } from '../route.ts'

export const questionKinds = ['permission', 'question', 'connector'] as const
export type QuestionKind = (typeof questionKinds)[number]

export const questionStatuses = ['open', 'answered', 'expired'] as const
export type QuestionStatus = (typeof questionStatuses)[number]

/** A sandbox with more open questions than this has a broken or hostile runtime. */
export const questionsOpenMax = 50
export const questionTitleMax = 300
export const questionDetailMax = 8_000
/** Part of the detail. It is never cut, so a longer one is not made. */
export const questionNoteMax = 2_000
export const questionOptionsMax = 20
export const questionOptionMax = 200
export const answerCharsMax = 4_000

export const question = named('Question', {
  question_id: uuid,
  kind: z.enum(questionKinds),
  title: z.string(),
  detail: z
    .string()
    .describe('The command, change or choices that the question is about, then the note. May be empty.'),
  note: z
    .string()
    .describe('The words of the service at the end of `detail`, such as what `always` allows. May be empty.'),
  options: z.array(z.object({ value: z.string(), label: z.string() })),
  status: z.enum(questionStatuses),
  answer: z
    .string()
    .nullable()
    .describe('One of the option values, or free text for `question`; null until a person answers.'),
  asked_at: timestamp,
  answered_by: uuid.nullable(),
  reason: z.string().nullable().describe('Why the question expired.'),
})
export type Question = z.infer<typeof question>

const base = '/v1/projects/:projectId/sessions/:sessionId/questions'

export const listQuestionsRoute = route.get('project-read', base, {
  name: 'listQuestions',
  summary: 'List the questions of an agent',
  description: 'Permissions, questions and connector calls to approve, newest first.',
  query: page.extend({ status: z.enum([...questionStatuses, 'all']).default('all') }),
  example: { query: { status: 'open' } },
  reply: z.object({ questions: z.array(question) }),
})

export const answerQuestionRoute = route.post('project-write', `${base}/:questionId/answer`, {
  name: 'answerQuestion',
  summary: 'Answer a question of an agent',
  description:
    'One of the option values; a `question` also takes free text. Only people can answer: the token of a sandbox gets `forbidden`.',
  errors: ['runtime_booting'],
  effect: 'adds',
  body: z.object({
    answer: z
      .string()
      .trim()
      .min(1, 'is empty')
      .max(answerCharsMax)
      .refine((text) => !text.includes('\0'), 'contains a NUL character'),
  }),
  example: { body: { answer: 'once' } },
  reply: question,
})
