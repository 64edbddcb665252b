import { open, stat } from 'node:fs/promises'
import { command } from '../../arguments/command.ts'
import type { Context } from '../../context.ts'
import { Refusal, UsageError } from '../../errors.ts'
import { logOf, serverEnvironment } from '../../self-host/environment.ts'
import { parseLine, readable } from '../../self-host/log-lines.ts'
import { runningServer } from '../../self-host/state.ts'

const services = ['server', 'postgres'] as const
const tailBytes = 256 * 1024
const linesShown = 200
const lookEveryMs = 250

export const logs = command({
  summary: 'Print the log of your server, or of one of its services',
  about: ['Services: server, and postgres for the messages of its database.'],
  scope: 'nothing',
  args: { service: { summary: 'server or postgres', optional: true } },
  flags: { follow: { kind: 'switch', summary: 'Keep printing new lines until Ctrl-C' } },
  examples: ['svc self-host logs', 'svc self-host logs postgres --follow'],
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
    let at = Math.max(0, found.size - tailBytes)
    const first = await readFrom(path, at)
    const before = at === 0 && first.lines.length < linesShown ? await linesBefore(path) : []
    const shown = show(ctx, [...before, ...first.lines].slice(-linesShown), service)
    if (shown === 0 && service === 'postgres')
      ctx.out.note(
        'No message of PostgreSQL among the last lines. Except for a crash, they have the level debug: run svc self-host env set SVC_LOG_LEVEL=debug, start the server again, and look here.',
      )
    at = first.end
    while (flags.follow) {
      await ctx.io.sleep(lookEveryMs)
      // A shorter file is a new one.
      const size = (await stat(path).catch(() => null))?.size ?? at
      const { lines, end } = await readFrom(path, size < at ? 0 : at)
      show(ctx, lines, service)
      at = end
    }
  },
})

/** Reads the end of the file that the server last rotated. */
async function linesBefore(path: string): Promise<string[]> {
  const older = `${path}.1`
  const size = (await stat(older).catch(() => null))?.size ?? 0
  return size === 0 ? [] : (await readFrom(older, Math.max(0, size - tailBytes))).lines
}

/** Whole lines only: the server may still be writing the last one. */
async function readFrom(path: string, at: number): Promise<{ lines: string[]; end: number }> {
  const file = await open(path, 'r')
  try {
    const buffer = Buffer.alloc(tailBytes)
    const { bytesRead } = await file.read(buffer, 0, tailBytes, at)
    const end = buffer.subarray(0, bytesRead).lastIndexOf(0x0a) + 1
    return { lines: buffer.subarray(0, end).toString('utf8').split('\n').slice(0, -1), end: at + end }
  } finally {
    await file.close()
  }
}

/** Returns how many of the lines it printed. */
function show({ out }: Context, lines: readonly string[], service: string | undefined): number {
  let shown = 0
  for (const line of lines) {
    const entry = parseLine(line)
    if (service === 'postgres' && entry?.from !== 'postgres') continue
    if (service === 'server' && entry?.from === 'postgres') continue
    if (out.json) out.documentLine(entry ?? { msg: line })
    else out.line(out.terminal && entry !== null ? readable(entry) : line)
    shown++
  }
  return shown
}
