import type { Context } from './context.ts'
import type { Listener } from './conversation.ts'
import { cut, dim, green, red, yellow } from './output.ts'
import { safe } from './safe.ts'

export interface Printer extends Listener {
  /** What is said next begins on a line of its own, also after the `^C` that a terminal shows. */
  interrupted(): void
}

/** The answer to stdout as it grows, tool calls folded to a line each on stderr; with `--json` every event as a line. */
export function printConversation({ io, out }: Pick<Context, 'io' | 'out'>): Printer {
  if (out.json) return { event: (event) => out.documentLine(event), interrupted: () => {} }
  let atLineStart = true
  const endLine = () => {
    if (!atLineStart) out.grow('\n')
    atLineStart = true
  }
  return {
    text(more) {
      out.grow(more)
      atLineStart = more.endsWith('\n')
    },
    textEnd: endLine,
    interrupted() {
      if (!io.stderr.isTTY || out.clearPassing()) return
      io.stderr.write('\n')
      // In a pipe the answer has its own lines.
      if (out.terminal) atLineStart = true
    },
    tool(part) {
      const [line = ''] = (part.title || part.input).split('\n')
      const room = Math.max(20, out.columns - part.tool.length - 8)
      const shown = cut(safe(line), room)
      const [error = ''] = part.status === 'error' ? part.output.trim().split('\n') : []
      out.progress(
        part.status === 'error' ? red('  ✗ ') : green('  ✓ '),
        part.tool,
        dim(`  ${shown}`),
        error === '' ? '' : `  ${error}`,
      )
    },
    question({ question_id: id, kind, title, detail, options, status }) {
      if (status !== 'open') return
      out.clearPassing()
      out.progress(yellow('? '), kind === 'permission' ? `The agent asks for permission: ${title}` : title)
      if (detail !== '') for (const line of detail.split('\n')) out.progress(dim(`  ${line}`))
      if (options.length > 0) out.progress(`  ${options.map(({ value }) => value).join(' | ')}`)
      out.progress(dim(`  Answer: svc sessions answer <session> <answer> --question ${id.slice(0, 8)}`))
    },
    session(session) {
      if (session.status === 'provisioning') out.passing('waking the session…')
    },
    turn(status) {
      if (status === 'busy' && atLineStart) out.passing('working…')
      else out.clearPassing()
    },
  }
}
