import type { ApiClient } from '@svc/contract/api'
import { reply } from '../../../api.ts'
import { command } from '../../../arguments/command.ts'
import type { Context } from '../../../context.ts'
import { Refusal, UsageError } from '../../../errors.ts'
import { bold, dim } from '../../../terminal/output.ts'
import { duration } from '../../../terminal/time.ts'
import type { ChangeRequest, Checks } from '../../../api-types.ts'
import { type Check, checkPiece, getChecks, printChecks, verdictOf } from './checks-labels.ts'
import { crArg, resolveChangeRequest } from '../find.ts'

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
    const { api, projectId } = await ctx.project()
    const cr = await resolveChangeRequest(ctx, api, projectId, args.cr)
    if (flags.rerun) await rerun(api, cr, args.name)
    const found = only(flags.wait ? await untilOver(ctx, api, cr, args.name) : await getChecks(api, cr), cr, args.name)
    const { out } = ctx
    const logs = flags.log ? await logsOf(api, cr, found.checks, Number(lines)) : null
    if (out.json) out.document(logs === null ? found : { ...found, logs })
    else {
      out.line(bold('Checks  '), verdictOf(found))
      if (found.checks.length > 0) printChecks(ctx, found)
      for (const log of logs ?? []) printLog(ctx, log)
    }
    if (found.state === 'failed')
      throw new Refusal('checks_failed', `Checks of #${cr.number} failed`, {
        hint: 'Checks run on the result of the merge. Merging is still possible.',
        next: flags.log ? [`svc cr checks ${cr.number} --rerun`] : [`svc cr checks ${cr.number} --log`],
      })
  },
})

async function rerun(api: ApiClient, cr: ChangeRequest, name: string | undefined): Promise<void> {
  await reply(
    api.POST('/v1/projects/{projectId}/change-requests/{crId}/checks/rerun', {
      params: { path: { projectId: cr.project_id, crId: cr.cr_id } },
      body: name === undefined ? {} : { name },
    }),
  )
}

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

async function untilOver(ctx: Context, api: ApiClient, cr: ChangeRequest, name: string | undefined): Promise<Checks> {
  const { io, out } = ctx
  const began = io.now()
  while (io.now() - began < waitMaxMs) {
    const found = await getChecks(api, cr)
    const shown = only(found, cr, name)
    if (shown.state !== 'running') return found
    const waits = shown.checks.filter(({ status }) => status === 'queued' || status === 'running')
    out.passing(`${waits.map((check) => `${check.name} ${check.status}`).join(', ')} ${duration(io.now() - began)}`)
    await io.sleep(lookEveryMs)
  }
  throw new Refusal('timed_out', 'Timed out: the checks are still running', { next: [`svc cr checks ${cr.number}`] })
}

async function logsOf(api: ApiClient, cr: ChangeRequest, shown: Check[], lines: number) {
  const logs = []
  for (const { run_id: runId } of shown) {
    if (runId === null) continue
    const path = { projectId: cr.project_id, crId: cr.cr_id, runId }
    logs.push(
      await reply(
        api.GET('/v1/projects/{projectId}/change-requests/{crId}/checks/{runId}/log', {
          params: { path, query: { lines } },
        }),
      ),
    )
  }
  return logs
}

function printLog({ out }: Context, { check, lines, truncated }: Awaited<ReturnType<typeof logsOf>>[number]): void {
  out.line('')
  out.line(bold(check.name), '  ', checkPiece(check.status))
  if (truncated) out.note('… earlier lines are omitted')
  for (const { stream, text } of lines) out.line(stream === 'svc' ? dim(text) : text)
}
