import type { Question } from '@svc/sdk'
import { findOne } from '../../../arguments/find-one.ts'
import { command } from '../../../arguments/command.ts'
import { Refusal } from '../../../errors.ts'
import { bold, dim, yellow } from '../../../terminal/output.ts'
import { allSessions, resolveSessionId } from '../find.ts'
import { sessionArg, shortId } from '../labels.ts'
import type { ProjectClient, SessionClient } from '../../../requests.ts'

export type Asked = Question & { session_id: string }

export const questions = command({
  summary: 'List open permissions, questions and connector calls of agents',
  scope: 'project',
  args: { id: { ...sessionArg, summary: 'Only this session (default: all that wait for you)', optional: true } },
  flags: { all: { kind: 'switch', summary: 'Include answered and expired questions of that session' } },
  examples: ['svc sessions questions', 'svc sessions questions 8f3a1c20 --all'],
  async run({ out, project, next }, { args, flags }) {
    const sessionId = args.id === undefined ? null : await resolveSessionId(project, args.id)
    const asked =
      sessionId === null
        ? await openQuestions(project)
        : await questionsOf(project.session(sessionId), flags.all ? 'all' : 'open')
    if (out.json) return out.document({ questions: asked })
    if (asked.length === 0) return out.note('No open questions.')
    if (!out.terminal)
      return out.table(asked, [
        { title: 'ID', of: ({ question_id }) => question_id },
        { title: 'SESSION', of: ({ session_id }) => session_id },
        { title: 'KIND', of: ({ kind }) => kind },
        { title: 'STATUS', of: ({ status }) => status },
        { title: 'QUESTION', of: ({ title }) => title },
        { title: 'ANSWERS', of: ({ options }) => options.map(({ value }) => value).join(', ') },
      ])
    for (const question of asked) {
      const { question_id: id, title, detail, options, status, answer, reason } = question
      out.line(bold(shortId(id, true)), '  ', title, dim(`  session ${shortId(question.session_id, true)}`))
      if (detail !== '') for (const line of detail.split('\n')) out.line(dim(`  ${line}`))
      if (status !== 'open') out.line('  ', dim(status === 'answered' ? `answered: ${answer}` : `expired: ${reason}`))
      else if (options.length > 0) out.line('  ', yellow(options.map(({ value }) => value).join(' | ')))
    }
    out.note(`Answer: ${next('svc sessions answer <session> <answer>')}`)
  },
})

async function questionsOf(at: SessionClient, status: 'open' | 'all'): Promise<Asked[]> {
  const { questions } = await at.get('/questions', { query: { status } })
  // The agent waits for the oldest first.
  return questions.toReversed().map((question) => ({ ...question, session_id: at.id }))
}

async function openQuestions(project: ProjectClient): Promise<Asked[]> {
  const waiting = (await allSessions(project)).filter((session) => session.waiting_for === 'person')
  const found = await Promise.all(waiting.map(({ session_id: id }) => questionsOf(project.session(id), 'open')))
  return found.flat()
}

/** The open question of a session, or the one that `given` names. */
export async function openQuestion(at: SessionClient, given: string | undefined): Promise<Asked> {
  const open = await questionsOf(at, 'open')
  const next = [`svc sessions questions ${at.id.slice(0, 8)}`]
  if (given !== undefined)
    return findOne(open, given, { what: ['open question', 'open questions'], id: (one) => one.question_id, next })
  if (open.length === 1) return open[0]!
  if (open.length === 0) throw new Refusal('not_found', 'The agent has no open question', { next })
  throw new Refusal('ambiguous', `${open.length} questions are open`, {
    hint: 'Choose one with --question <id>.',
    detail: { questions: open.map(({ question_id, title }) => ({ question_id, title })) },
    next,
  })
}
