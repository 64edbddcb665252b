import type { ChangeRequest, ChangeRequestChecks as Checks } from '@svc/sdk'
import { command } from '../../../arguments/command.ts'
import type { Context } from '../../../context.ts'
import { Refusal, UsageError } from '../../../errors.ts'
import { bold, dim } from '../../../terminal/output.ts'
import { duration } from '../../../terminal/time.ts'
import { type Check, checkPiece, printChecks, verdictOf } from './checks-labels.ts'
import { crArg, changeRequestAt } from '../find.ts'
import type { ChangeRequestClient } from '../../../requests.ts'

const lookEveryMs = 1_000
/** A check may take a quarter of an hour, and may wait for others. */
const waitMaxMs = 2 * 60 * 60_000

export const checks = command({
  summary: 'Show the check results of a change request',
  about: [
    'Checks are the commands under [[checks]] in svc.toml on the default branch. They run on the result of the merge. Name a check to see only that one.',
    'The exit code is 1 if a shown check failed; --wait first waits for all of them.',
  ],
  scope: 'project',
  args: { cr: crArg, name: { summary: 'Name of one check (default: all)', optional: true } },
  flags: {
    wait: { kind: 'switch', summary: 'Wait until all checks have ended' },
    log: { kind: 'switch', summary: 'Print the output' },
    rerun: { kind: 'switch', summary: 'First rerun the named check, or all that did not pass' },
    lines: { kind: 'text', summary: 'Number of last lines of each (default: 200)', value: 'count' },
  },
  examples: ['svc cr checks 3', 'svc cr checks 3 unit --log', 'svc cr checks @ --rerun --wait'],
  async run(ctx, { args, flags }) {
    const lines = flags.lines ?? '200'
    if (!/^\d{1,4}$/.test(lines) || Number(lines) > 5000)
      throw new UsageError(`${JSON.stringify(lines)} is not a number of lines up to 5000`)
    const { at, cr } = await changeRequestAt(ctx, args.cr)
    if (flags.rerun) await at.post('/checks/rerun', { body: { name: args.name } })
    const found = only(flags.wait ? await untilOver(ctx, at, cr, args.name) : await at.get('/checks'), cr, args.name)
    const { out } = ctx
    const logs = flags.log ? await logsOf(at, found.checks, Number(lines)) : null
    if (out.json) out.document(logs === null ? found : { ...found, logs })
    else {
      out.line(bold('Checks  '), verdictOf(found))
      if (found.checks.length > 0) printChecks(ctx, found)
      for (const log of logs ?? []) printLog(ctx, log)
    }
    if (found.state === 'failed')
      throw new Refusal('checks_failed', `Checks of #${cr.number} failed`, {
        hint: 'Checks run on the result of the merge. You can still merge.',
        next: flags.log ? [`svc cr checks ${cr.number} --rerun`] : [`svc cr checks ${cr.number} --log`],
      })
  },
})

function only(found: Checks, cr: ChangeRequest, name: string | undefined): Checks {
  if (name === undefined || found.state === 'none' || found.state === 'not_run') return found
  const checks = found.checks.filter((check) => check.name === name)
  const [check] = checks
  if (check === undefined)
    throw new Refusal('not_found', `#${cr.number} has no check ${name}`, { next: [`svc cr checks ${cr.number}`] })
  return { ...found, checks, state: stateOf(check) }
}

function stateOf({ status }: Check): Checks['state'] {
  if (status === 'queued' || status === 'running') return 'running'
  if (status === 'cancelled') return 'not_run'
  return status === 'passed' ? 'passed' : 'failed'
}

async function untilOver(
  ctx: Context,
  at: ChangeRequestClient,
  cr: ChangeRequest,
  name: string | undefined,
): Promise<Checks> {
  const { io, out } = ctx
  const began = io.now()
  while (io.now() - began < waitMaxMs) {
    const found = await at.get('/checks')
    const shown = only(found, cr, name)
    if (shown.state !== 'running') return found
    const waits = shown.checks.filter(({ status }) => status === 'queued' || status === 'running')
    out.passing(`${waits.map((check) => `${check.name} ${check.status}`).join(', ')} ${duration(io.now() - began)}`)
    await io.sleep(lookEveryMs)
  }
  throw new Refusal('timed_out', 'Timed out: the checks are still running', { next: [`svc cr checks ${cr.number}`] })
}

async function logsOf(at: ChangeRequestClient, shown: Check[], lines: number) {
  const logs = []
  for (const { run_id: runId } of shown) {
    if (runId === null) continue
    logs.push(await at.get('/checks/{runId}/log', { path: { runId }, query: { lines } }))
  }
  return logs
}

function printLog({ out }: Context, { check, lines, truncated }: Awaited<ReturnType<typeof logsOf>>[number]): void {
  out.line('')
  out.line(bold(check.name), '  ', checkPiece(check.status))
  if (truncated) out.note('… earlier lines are omitted')
  for (const { stream, text } of lines) out.line(stream === 'svc' ? dim(text) : text)
}
