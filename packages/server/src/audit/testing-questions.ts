/** An answer to an agent, for the test that counts audit rows. */
import type { Question, Session } from '@svc/contract'
import { type SessionApp, until } from '../sessions/testing.ts'

export const answerQuestion = (app: () => SessionApp, freshSession: () => Promise<string>) => ({
  action: 'session.answer',
  async prepare() {
    const path = await freshSession()
    const { sandbox } = (await app().request<Session>('GET', path)).body
    void app()
      .driver.questions(sandbox!.sandbox_id)
      .askPermission({ permission: 'bash', patterns: ['date'] })
    const asked = await until('the question is there', async () => {
      const { body } = await app().request<{ questions: Question[] }>('GET', `${path}/questions`)
      return body.questions[0] ?? null
    })
    return () => app().request('POST', `${path}/questions/${asked.question_id}/answer`, { body: { answer: 'once' } })
  },
})
