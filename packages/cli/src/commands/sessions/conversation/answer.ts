import { pick } from '../../../terminal/ask.ts'
import { command } from '../../../arguments/command.ts'
import { UsageError } from '../../../errors.ts'
import { bold, green } from '../../../terminal/output.ts'
import { valueOrStdin } from '../../../terminal/read-stdin.ts'
import { sessionAt } from '../find.ts'
import { openQuestion } from './questions.ts'
import { sessionArg } from '../labels.ts'

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
