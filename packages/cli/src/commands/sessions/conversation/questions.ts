import type { Question } from '@svc/sdk'
import { command } from '../../../arguments/command.ts'
import { findOne } from '../../../arguments/find-one.ts'
import { Refusal, UsageError } from '../../../errors.ts'
import type { ProjectClient, SessionClient } from '../../../requests.ts'
import { pick } from '../../../terminal/ask.ts'
import { bold, dim, green, yellow } from '../../../terminal/output.ts'
import { valueOrStdin } from '../../../terminal/read-stdin.ts'
import { allSessions, resolveSessionId, sessionAt } from '../find.ts'
import { sessionArg, shortId } from '../labels.ts'

type Asked = Question & { session_id: string }

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
async function openQuestion(at: SessionClient, given: string | undefined): Promise<Asked> {
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

export const answer = command({
  summary: 'Answer a question of an agent',
  about: ['A permission or a connector call needs one of its answers; a question also accepts free text.'],
  scope: 'project',
  args: {
    id: { ...sessionArg, summary: 'Id of the session, its first characters, or its name' },
    answer: { summary: 'The answer; - reads stdin (default on a terminal: a picker)', optional: true },
  },
  flags: { question: { kind: 'text', summary: 'Id of the question, if several are open', value: 'id' } },
  examples: [
    'svc sessions answer 8f3a1c20 once',
    'svc sessions answer 8f3a1c20 "Use the blue one" --question 1c5f09aa',
  ],
  async run(ctx, { args, flags }) {
    const at = await sessionAt(ctx, args.id)
    const question = await openQuestion(at, flags.question)
    const { question_id: questionId, title, options } = question
    const text = args.answer === undefined ? null : await valueOrStdin(ctx.io, args.answer, 'the answer')
    if (text === null && options.length === 0)
      throw new UsageError('Missing <answer>: this question takes free text', {
        next: [`svc sessions answer ${args.id} "<text>"`],
      })
    const given =
      text ??
      (await pick(ctx, {
        question: title,
        missing: '<answer>',
        corrected: `svc sessions answer ${args.id} ${options[0]?.value ?? '<answer>'}`,
        choices: options.map(({ value, label }) => ({ value, label })),
      }))
    const answered = await at.post('/questions/{questionId}/answer', {
      path: { questionId },
      body: { answer: given },
    })
    const { out } = ctx
    if (out.json) return out.document(answered)
    const label = options.find(({ value }) => value === answered.answer)?.label ?? answered.answer ?? ''
    out.line(green('✓ '), bold(title), `: ${label}`)
  },
})
