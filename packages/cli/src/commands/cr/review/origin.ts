import type { ChangeRequestOrigins as Origins } from '@svc/sdk'
import { command } from '../../../arguments/command.ts'
import { UsageError } from '../../../errors.ts'
import { bold, cyan, dim } from '../../../terminal/output.ts'
import type { Context } from '../../../context.ts'
import { crArg, changeRequestAt } from '../find.ts'

export const origin = command({
  summary: 'Show how the changed lines of a file were written',
  about: [
    'For each line: the prompt and the tool call that wrote it, from the transcripts of the branch, or the commit.',
    'Calls that may have written a line are listed as such.',
  ],
  scope: 'project',
  args: { cr: crArg, place: { summary: 'A changed file, or a line of it: src/login.ts:12' } },
  examples: ['svc cr origin 3 src/login.ts:12', 'svc cr origin @ src/login.ts --json'],
  async run(ctx, { args }) {
    const { path, line } = placeOf(args.place)
    const { at } = await changeRequestAt(ctx, args.cr)
    const found = await at.get('/origins', { query: { path } })
    const lines = found.lines.filter(
      ({ side, start, end }) => line === null || (side === 'new' && start <= line && line <= end),
    )
    if (ctx.out.json) return ctx.out.document({ ...found, lines })
    if (lines.length === 0) ctx.out.note(line === null ? 'No changed lines.' : `Line ${line} is not changed.`)
    for (const each of lines) printLines(ctx, found, each)
    if (found.withheld) ctx.out.note('You cannot read the transcript of a session of this branch.')
    if (found.truncated) ctx.out.note('The transcript is long. Only its newest part was searched.')
  },
})

function placeOf(given: string): { path: string; line: number | null } {
  const [, path = given, line] = /^(.+):(\d{1,9})$/.exec(given) ?? []
  if (path === '') throw new UsageError('Name a changed file, such as src/login.ts:12')
  return { path, line: line === undefined ? null : Number(line) }
}

function printLines({ out }: Context, found: Origins, { side, start, end, ...origin }: Origins['lines'][number]): void {
  const range = start === end ? `line ${start}` : `lines ${start}-${end}`
  out.line(bold(`${found.path}, ${side === 'old' ? 'removed ' : ''}${range}`))
  const call = found.calls.find(({ call_id }) => call_id === origin.call_id)
  if (call !== undefined) {
    printCall(out, found, call)
    return
  }
  const commit = found.commits.find(({ sha }) => sha === origin.commit_sha)
  if (commit !== undefined)
    out.line(
      '  ',
      `${commit.by_agent ? 'No tool call is known. An agent' : commit.author_name} committed it in ${commit.sha.slice(0, 10)}: ${commit.subject}`,
    )
  else out.line('  ', 'No tool call is known.')
  for (const { call_id, reason } of origin.candidates) {
    const candidate = found.calls.find((each) => each.call_id === call_id)
    if (candidate === undefined) continue
    out.line('  ', dim(`may come from a call that ${reasons[reason]}:`))
    printCall(out, found, candidate)
  }
}

const reasons: Record<Origins['lines'][number]['candidates'][number]['reason'], string> = {
  same_text: 'wrote the same text',
  names_file: 'names this file',
  ran_before_commit: 'ran before the commit',
  sub_agent: 'had a sub-agent change this file',
  cut: 'is stored only in part',
}

function printCall(out: Context['out'], found: Origins, call: Origins['calls'][number]): void {
  const prompt = found.prompts.find(
    ({ message_id, session_id }) => message_id === call.prompt_id && session_id === call.session_id,
  )
  out.line(
    '  ',
    cyan(call.tool),
    ` ${firstLine(call.title)}  `,
    dim(`${out.time(call.at)}, session ${call.session_id}`),
  )
  if (prompt !== undefined) out.line('  ', dim('for '), JSON.stringify(firstLine(prompt.text)))
}

const firstLine = (text: string) => text.trim().split('\n')[0] ?? ''
