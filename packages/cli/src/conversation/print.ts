import { toolOutcome, toolTarget } from '@svc/contract/schemas/tool-outcome'
import type { Question, Session } from '@svc/sdk'
import type { Context } from '../context.ts'
import type { ToolPart } from './message-changes.ts'
import type { Listener } from './turn.ts'
import type { WatchListener } from './watch.ts'
import { type Piece, bold, cut, dim, green, red, yellow } from '../terminal/output.ts'
import { safe, safeBlock } from '../terminal/safe.ts'

export interface Printer extends Listener, WatchListener {
  /** Starts the next output on a new line, also after the `^C` that a terminal shows. */
  interrupted(): void
}

interface PrinterOptions {
  /** Prints authors and messages to stdout: prompts, tool calls and questions are data, too. */
  whole?: boolean
  sessionId?: string
}

/** Prints the growing answer to stdout and one line per tool call to stderr; with `--json` one line per event. */
export function printConversation(
  ctx: Pick<Context, 'io' | 'out' | 'next'>,
  { whole = false, sessionId }: PrinterOptions = {},
): Printer {
  const { io, out } = ctx
  if (out.json) return { event: (event) => out.documentLine(event), interrupted: () => {} }
  const say = whole ? out.line : out.progress
  const waking = wakingLine(ctx)
  let isFirst = true
  let status: Session['status'] | null = null
  /** The line of the call that runs. A watcher who comes late reads the call before it reads that the agent works. */
  let running: string | null = null
  return {
    prompt(text, by, files = []) {
      // A call before it was cut off.
      running = null
      out.endLine()
      if (!isFirst) say()
      isFirst = false
      if (by !== undefined) say(dim(by))
      // Sanitizing the lines together also sanitizes each one.
      const lines = safeBlock(text).trimEnd().split('\n')
      for (const [i, line] of lines.entries()) say(dim(i === 0 ? '› ' : line === '' ? '' : '  '), bold(line))
      for (const name of files) say(dim('  attached: '), name)
    },
    text(more) {
      running = null
      out.grow(more)
      isFirst = false
    },
    textEnd: out.endLine,
    failed(reason) {
      out.endLine()
      isFirst = false
      for (const [i, line] of safeBlock(reason).trimEnd().split('\n').entries()) say(red(i === 0 ? '✗ ' : '  '), line)
    },
    interrupted() {
      if (io.stderr.isTTY && !out.clearPassing()) out.breakLine()
    },
    toolRunning(part) {
      running = runningLine(part, out.columns)
      out.passing(running)
    },
    tool(part) {
      isFirst = false
      running = null
      say(...toolLine(part, whole && !out.terminal ? Infinity : whole ? out.width : out.columns))
    },
    question(question) {
      const { question_id: id, options, status } = question
      out.clearPassing()
      out.endLine()
      isFirst = false
      if (status !== 'open') return whole ? say(...closedQuestion(question)) : undefined
      for (const line of openQuestionLines(question)) say(...line)
      const session = sessionId?.slice(0, 8) ?? '<session>'
      out.progress(
        dim('  Answer: '),
        ctx.next(`svc sessions answer ${session} ${options[0]?.value ?? '"<text>"'} --question ${id.slice(0, 8)}`),
      )
    },
    session(session) {
      const hasEnded = session.status === 'stopped' || session.status === 'failed'
      if (whole && hasEnded && status !== null && status !== session.status) {
        out.endLine()
        say(dim(`The session is ${session.status}${session.error === null ? '' : `: ${session.error}`}`))
      }
      status = session.status
      if (session.status === 'provisioning') out.passing('restarting the session…')
      waking.session(session)
    },
    waits(ahead) {
      out.progress(
        `The prompt waits for ${ahead === 1 ? 'one other prompt' : `${ahead} other prompts`}.`,
        ...(sessionId === undefined ? [] : [dim(`  ${ctx.next(`svc sessions queue ${sessionId.slice(0, 8)}`)}`)]),
      )
    },
    turn(turn) {
      if (turn !== 'busy') running = null
      if (turn === 'busy') out.passing(running ?? 'working…')
      else out.clearPassing()
      waking.turn(turn)
    },
  }
}

/** Says that the agent wakes: a prompt to a sleeping session waits for its runtime, which may take half a minute. */
function wakingLine({ io, out }: Pick<Context, 'io' | 'out'>) {
  const words = 'Waking the agent…'
  let [isAsleep, isBusy, isSaid] = [false, false, false]
  const show = () => {
    const wakes = isAsleep && isBusy
    if (wakes && io.stderr.isTTY) out.passing(words)
    else if (wakes && !isSaid) out.progress(words)
    else if (!wakes && out.clearPassing(words) && isBusy) out.passing('working…')
    isSaid = wakes
  }
  return {
    session({ asleep_since: since }: Session) {
      isAsleep = since != null
      show()
    },
    turn(turn: 'busy' | 'idle' | 'error') {
      isBusy = turn === 'busy'
      show()
    },
  }
}

function targetLine(part: ToolPart, width: number): string {
  const [line = ''] = toolTarget(part).split('\n')
  return cut(safe(line), Math.max(20, width - part.tool.length - 8))
}

export function runningLine(part: ToolPart, width: number): string {
  return `  ${toolOutcome(part).mark} ${part.tool}  ${targetLine(part, width)}`
}

function toolLine(part: ToolPart, width: number): Piece[] {
  const shown = targetLine(part, width)
  // A call printed for good has ended, so one that has no result was interrupted.
  const { mark, hasFailed, note } = toolOutcome(part, { isOver: true })
  const [error = ''] = part.status === 'error' ? part.output.trim().split('\n') : [note]
  const colored = hasFailed ? red(`  ${mark} `) : green(`  ${mark} `)
  return [colored, part.tool, dim(`  ${shown}`), error === '' ? '' : `  ${error}`]
}

function openQuestionLines(question: Question): Piece[][] {
  const { detail, options } = question
  return [
    [yellow('? '), titleOf(question)],
    ...(detail === '' ? [] : detail.split('\n').map((line) => [dim(`  ${line}`)])),
    ...(options.length === 0 ? [] : [[`  ${options.map(({ value }) => value).join(' | ')}`]]),
  ]
}

export function titleOf({ kind, title }: Pick<Question, 'kind' | 'title'>): string {
  return kind === 'permission' ? `The agent asks for permission: ${title}` : title
}

function closedQuestion({ status, answer, reason, options }: Question): Piece[] {
  if (status === 'answered')
    return [green('  ✓ '), `Answered: ${options.find(({ value }) => value === answer)?.label ?? answer ?? ''}`]
  return [red('  ✗ '), `Not answered: ${reason ?? 'withdrawn'}`]
}
