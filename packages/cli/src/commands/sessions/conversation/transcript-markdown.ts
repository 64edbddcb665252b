import { toolOutcome } from '@svc/contract/schemas/tool-outcome'
import type { Question } from '@svc/sdk'
import { safe } from '../../../terminal/safe.ts'
import { titleOf } from '../../../conversation/print.ts'
import type { Entry, Transcript } from './transcript.ts'

/**
 * Every message is quoted, so that a heading, an open code block or HTML in one ends with its quotation and cannot
 * impersonate another author.
 */
export function transcriptMarkdown({ session, entries }: Pick<Transcript, 'session' | 'entries'>): string {
  const facts = [
    `- Session: \`${session.session_id}\``,
    `- Branch: ${code(session.branch_name)}, from ${code(session.base_ref)}`,
    `- Agent: ${plain(session.agent_name)}${session.model === null ? '' : `, ${plain(session.model)}`}`,
    `- Status: ${session.status}`,
    `- Started: ${session.created_at}`,
  ]
  return [`# ${plain(session.name)}`, facts.join('\n'), ...sections(entries)].join('\n\n')
}

function sections(entries: readonly Entry[]): string[] {
  const lines: string[] = []
  let isAgent = false
  for (const entry of entries) {
    const isOfAgent = entry.kind === 'answer' || entry.kind === 'question' || entry.kind === 'failure'
    // An answer spans many messages; group them in one section.
    if (!isOfAgent || !isAgent) lines.push(`## ${isOfAgent ? 'Agent' : plain(entry.by)}, ${entry.at}`)
    isAgent = isOfAgent
    if (entry.kind === 'answer') lines.push(...answer(entry))
    else if (entry.kind === 'failure') lines.push(`**Failed:** ${plain(entry.reason)}`)
    else if (entry.kind === 'question') lines.push(...question(entry.question, entry.by))
    else {
      lines.push(quote(entry.text))
      if (entry.files.length > 0) lines.push(`**Attached:** ${entry.files.map(code).join(', ')}`)
      if (entry.kind === 'waiting') lines.push('**Queued:** not delivered to the agent yet.')
      else if (entry.error !== null) lines.push(`**Failed:** ${plain(entry.error)}`)
    }
  }
  return lines
}

function answer({ message: { parts, error }, isOver }: Extract<Entry, { kind: 'answer' }>): string[] {
  const blocks = parts.flatMap((part) => {
    if (part.type === 'text') return part.text.trim() === '' ? [] : [quote(part.text)]
    if (part.type !== 'tool') return []
    const { tool, title, input, output } = part
    const { mark, note } = toolOutcome(part, { isOver })
    const [line = ''] = (title || input).split('\n')
    return [
      `${mark} **${plain(tool)}** ${code(line)}${note === '' ? '' : ` (${note})`}`,
      ...(input === '' || input === line ? [] : [fenced(input)]),
      ...(output.trim() === '' ? [] : [fenced(output)]),
    ]
  })
  return error === null ? blocks : [...blocks, `**Failed:** ${plain(error)}`]
}

function question(asked: Question, by: string | null): string[] {
  const { detail, options, status, answer, reason } = asked
  const label = options.find(({ value }) => value === answer)?.label ?? answer ?? ''
  const end =
    status === 'open'
      ? '**Not answered yet.**'
      : status === 'answered'
        ? `**Answer${by === null ? '' : ` of ${plain(by)}`}:** ${plain(label)}`
        : `**Not answered:** ${plain(reason ?? '')}`
  return [`**Question:** ${plain(titleOf(asked))}`, ...(detail === '' ? [] : [fenced(detail)]), end]
}

function quote(text: string): string {
  return linesOf(text)
    .map((line) => (line === '' ? '>' : `> ${line}`))
    .join('\n')
}

/** A fence longer than any run of backticks inside. */
function fenced(text: string): string {
  const fence = '`'.repeat(Math.max(3, longestRun(text) + 1))
  return [fence, ...linesOf(text), fence].join('\n')
}

function code(text: string): string {
  const fence = '`'.repeat(longestRun(text) + 1)
  const line = text.replaceAll('\n', ' ')
  return line === '' ? '' : `${fence}${/^`|`$/.test(line) ? ` ${line} ` : line}${fence}`
}

function longestRun(text: string): number {
  return [...text.matchAll(/`+/g)].reduce((longest, [run]) => Math.max(longest, run.length), 0)
}

function linesOf(text: string): string[] {
  return text.replaceAll('\r\n', '\n').trimEnd().split('\n')
}

/** Escapes one line of text for Markdown. */
function plain(text: string): string {
  return safe(text.trim().replace(/\s+/g, ' ')).replace(/[\\`*_[\]<>#&|~!]/g, '\\$&')
}
