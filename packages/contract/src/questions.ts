/** Questions an agent has for a person: permissions and questions of its runtime, and connector calls that need approval. */
import { z } from 'zod'
import { page, route, timestamp, uuid } from './route.ts'

export const questionKinds = ['permission', 'question', 'connector'] as const
export type QuestionKind = (typeof questionKinds)[number]

export const questionStatuses = ['open', 'answered', 'expired'] as const
export type QuestionStatus = (typeof questionStatuses)[number]

/** A sandbox with more open questions than this has a broken or hostile runtime. */
export const questionsOpenMax = 50
export const questionTitleMax = 300
export const questionDetailMax = 8_000
export const questionOptionsMax = 20
export const questionOptionMax = 200
export const answerCharsMax = 4_000

export const question = z.object({
  question_id: uuid,
  kind: z.enum(questionKinds),
  title: z.string(),
  /** The command, change or choices that the question is about. May be empty. */
  detail: z.string(),
  options: z.array(z.object({ value: z.string(), label: z.string() })),
  status: z.enum(questionStatuses),
  /** One of the values, or free text for `question`; null until a person answers. */
  answer: z.string().nullable(),
  asked_at: timestamp,
  answered_by: uuid.nullable(),
  /** Why an expired question expired. */
  reason: z.string().nullable(),
})
export type Question = z.infer<typeof question>

const base = '/v1/projects/:projectId/sessions/:sessionId/questions'

export const listQuestionsRoute = route({
  name: 'listQuestions',
  summary: 'Questions the agent has asked, newest first: permissions, questions and connector calls to approve',
  method: 'GET',
  path: base,
  access: 'project-read',
  query: page.extend({ status: z.enum([...questionStatuses, 'all']).default('all') }),
  reply: z.object({ questions: z.array(question) }),
})

export const answerQuestionRoute = route({
  name: 'answerQuestion',
  summary:
    'Answer a question of an agent: one of its values, or free text for a question. People answer; the token of any sandbox is refused',
  method: 'POST',
  path: `${base}/:questionId/answer`,
  access: 'project-write',
  effect: 'adds',
  body: z.object({
    answer: z
      .string()
      .trim()
      .min(1, 'is empty')
      .max(answerCharsMax)
      .refine((text) => !text.includes('\0'), 'holds a NUL character'),
  }),
  reply: question,
})
