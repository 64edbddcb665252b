import { stat } from 'node:fs/promises'
import { command } from '../../arguments/command.ts'
import type { Context } from '../../context.ts'
import { Refusal, UsageError } from '../../errors.ts'
import { logOf, serverEnvironment } from '../../self-host/environment.ts'
import { parseLine, readable } from '../../self-host/log-lines.ts'
import { lastLinesOf, readFrom } from '../../self-host/read-log.ts'
import { runningServer } from '../../self-host/state.ts'

const services = ['server', 'postgres'] as const
const linesShown = 200
const linesMax = 10_000_000
const lookEveryMs = 250

export const logs = command({
  summary: 'Print the log of your server, or of one of its services',
  about: [
    'Services: server, and postgres for the messages of its database.',
    'Prints the last 200 lines. --lines and --find also read the files that the server rotated.',
  ],
  scope: 'nothing',
  args: { service: { summary: 'server or postgres', optional: true } },
  flags: {
    lines: {
      kind: 'number',
      summary: 'How many of the last lines (default: 200, and all with --find)',
      value: 'n',
      min: 1,
      max: linesMax,
    },
    find: { kind: 'text', summary: 'Only lines with this text, such as the id of a request', value: 'text' },
    follow: { kind: 'switch', summary: 'Keep printing new lines until Ctrl-C' },
  },
  examples: ['svc self-host logs', 'svc self-host logs --find 0190a1c2', 'svc self-host logs postgres --follow'],
  async run(ctx, { args, flags }) {
    const service = args.service
    if (service !== undefined && !services.includes(service as 'server'))
      throw new UsageError(`There is no service ${JSON.stringify(service)}`, {
        next: services.map((name) => `svc self-host logs ${name}`),
      })
    const path = (await runningServer(ctx))?.log ?? logOf(await serverEnvironment(ctx))
    const found = await stat(path).catch(() => null)
    if (found === null)
      throw new Refusal('not_found', 'No log: no server was started here by svc self-host start', {
        hint: `The log would be ${path}.`,
        next: ['svc self-host start'],
      })
    const isWanted = (line: string) => isOf(line, service) && (flags.find === undefined || line.includes(flags.find))
    const count = flags.lines ?? (flags.find === undefined ? linesShown : linesMax)
    const { lines: last, end: read } = await lastLinesOf(path, { count, isWanted })
    show(ctx, last)
    if (last.length === 0) noteNone(ctx, { service, find: flags.find })
    let at = read
    while (flags.follow) {
      await ctx.io.sleep(lookEveryMs)
      // A shorter file is a new one.
      const size = (await stat(path).catch(() => null))?.size ?? at
      const { lines, end } = await readFrom(path, size < at ? 0 : at)
      show(ctx, lines.filter(isWanted))
      at = end
    }
  },
})

function isOf(line: string, service: string | undefined): boolean {
  return service === undefined || (parseLine(line)?.from === 'postgres') === (service === 'postgres')
}

function noteNone(
  { out }: Context,
  { service, find }: { service: string | undefined; find: string | undefined },
): void {
  if (find !== undefined)
    return out.note(
      `No line of the log has ${JSON.stringify(find)}. A request that was refused, such as with 403 or 404, is in it only with SVC_LOG_LEVEL=debug.`,
    )
  if (service === 'postgres')
    out.note(
      'The log has no message of PostgreSQL. Except for a crash, they have the level debug: run svc self-host env set SVC_LOG_LEVEL=debug, start the server again, and look here.',
    )
}

function show({ out }: Context, lines: readonly string[]): void {
  for (const line of lines) {
    const entry = parseLine(line)
    if (out.json) out.documentLine(entry ?? { msg: line })
    else out.line(out.terminal && entry !== null ? readable(entry) : line)
  }
}
