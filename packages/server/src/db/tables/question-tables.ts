import type { QuestionKind, QuestionStatus } from '@svc/contract'
import type { JSONColumnType } from 'kysely'
import type { Default, Now, Timestamp } from './columns.ts'

export interface QuestionTables {
  session_questions: {
    question_id: string
    session_id: string
    generation: number
    kind: QuestionKind
    runtime_id: string | null
    position: Default<number>
    multiple: Default<boolean>
    title: string
    detail: string
    options: JSONColumnType<{ value: string; label: string }[]>
    status: Default<QuestionStatus>
    answer: string | null
    answered_by: string | null
    answered_at: Timestamp | null
    reason: string | null
    asked_at: Now
    expires_at: Timestamp | null
  }
}
