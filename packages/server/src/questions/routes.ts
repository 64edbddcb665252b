import { answerQuestionRoute, listQuestionsRoute } from '@svc/contract'
import type { Deps } from '../deps.ts'
import { handle, type Mounted } from '../http/mount.ts'
import { Page } from '../http/page.ts'
import { listQuestions, presentQuestion } from '../sessions/questions/store.ts'
import { requireSession } from '../sessions/store.ts'
import { answerQuestion } from './answer.ts'

export function questionRoutes(deps: Deps): Mounted[] {
  return [
    handle(listQuestionsRoute, async ({ project, params, query }) => {
      const session = await requireSession(deps.db, project.project_id, params.sessionId)
      const now = deps.now()
      const { rows, next } = await listQuestions(deps.db, session.session_id, { ...query, now })
      return new Page({ questions: rows.map((row) => presentQuestion(row, now)) }, next)
    }),
    handle(answerQuestionRoute, async ({ project, params, caller, body }) => {
      const session = await requireSession(deps.db, project.project_id, params.sessionId)
      return answerQuestion(deps, { project, session, caller, questionId: params.questionId, answer: body.answer })
    }),
  ]
}
