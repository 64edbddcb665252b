import { count } from '@svc/contract/count'
import type { OtherServer, RunningSandboxes } from '@svc/contract/daemon/owner-socket'
import { command } from '../../arguments/command.ts'
import type { Context } from '../../context.ts'
import { Refusal } from '../../errors.ts'
import { changedSettings, warnOfChanges } from '../../self-host/changed-settings.ts'
import { problemsOfNextStart, warnOfInvalid } from '../../self-host/invalid-settings.ts'
import { withThisProgram } from '../../self-host/launch.ts'
import { planUpgrade, type Upgrade, type UpgradePlan } from '../../self-host/plan-upgrade.ts'
import { switchProgram } from '../../self-host/switch-program.ts'
import { countsOf } from '../../self-host/what-runs.ts'
import { confirm } from '../../terminal/ask.ts'
import { bold, dim, green, red } from '../../terminal/output.ts'

export const upgrade = command({
  summary: 'Replace your running server with this version of svc',
  about: [
    'Run it with the new program: dist/svc of a new build, or svc-server/bin/svc of an unpacked archive. It checks the data folder, the master key, the disk, PostgreSQL, the sandbox driver and the agent runtime before it stops anything, then starts this program with the settings of the running one. If that does not become ready, the earlier program starts again, unless the database was migrated.',
    'Sessions, apps and checks go on. --check only checks; the exit code is 1 when an upgrade would be refused.',
  ],
  scope: 'nothing',
  flags: {
    check: { kind: 'switch', summary: 'Only check; stop and start nothing' },
    yes: { kind: 'switch', summary: "Don't ask" },
  },
  examples: ['svc self-host upgrade --check', 'svc self-host upgrade', 'svc self-host upgrade --yes --json'],
  async run(ctx, { flags }) {
    const { out } = ctx
    const found = await planUpgrade(ctx)
    const { plan, server } = found
    // It starts with the settings of the running server, and a later start has the saved ones.
    await warnOfInvalid(ctx, await problemsOfNextStart(ctx))
    if (plan.is_current) {
      const { version, pid } = plan.from
      return out.done(
        flags.check ? plan : { upgraded: false, ...plan },
        `The server is already running this program: ${version ?? plan.to.version} (process ${pid})`,
      )
    }
    if (flags.check && out.json) out.document(plan)
    else if (!out.json) show(ctx, found)
    if (!plan.can_upgrade || server === null) throw refused(ctx, plan)
    if (flags.check) return out.note('An upgrade can run. Nothing was changed.')
    await confirm(ctx, {
      question: 'Stop the server and start this version?',
      yes: flags.yes,
      corrected: withThisProgram(ctx, 'svc self-host upgrade --yes'),
    })
    const state = await switchProgram(ctx, { ...found, server })
    if (out.json) return out.document({ upgraded: true, ...plan, server: state })
    out.line(green('✓ '), 'The server is running ', bold(plan.to.version), `: ${state.url} (process ${state.pid})`)
    warnOfChanges(ctx, await changedSettings(ctx, { pid: state.pid, state }))
    // A build in the same clone replaces the program where it is.
    if (plan.from.program !== plan.to.program)
      out.note(`This server no longer uses the program of the earlier version: ${plan.from.program}`)
    const earlier = (plan.other_servers ?? []).filter(({ version }) => version !== plan.to.version)
    if (earlier.length > 0)
      out.note(`Servers of this database that run another version: ${named(earlier)}. Upgrade one after the other.`)
  },
})

const named = (servers: OtherServer[]) =>
  servers.map(({ name, version }) => `${name} (${version ?? 'unknown version'})`).join(', ')

function show({ out }: Context, { plan, running }: Upgrade): void {
  const { from, to, migrations } = plan
  out.fields([
    ['running', [from.version ?? 'unknown version', dim(`  ${from.program} (process ${from.pid})`)]],
    ['this', [to.version, dim(`  ${to.program}`)]],
    ['data', from.data_dir],
    whatRuns(plan.sandboxes),
    ['database', migrations === null ? null : afterMigrations(plan, migrations)],
    ['others', plan.other_servers === null || plan.other_servers.length === 0 ? null : named(plan.other_servers)],
    ['back', noWayBack(plan, running.isInPlace)],
  ])
  for (const { says, mend } of plan.problems) {
    out.line(red('✗ '), says)
    if (mend !== null) out.line('    ', dim(mend))
  }
}

function noWayBack({ can_go_back, from, migrations }: UpgradePlan, isInPlace: boolean): string | null {
  if (!isInPlace) return `${from.program} was replaced, so the running version can't be started again`
  // Without the number of migrations, a problem says why nothing is known of the database.
  if (can_go_back || migrations === null) return null
  return 'only with a backup from before: the running version does not start on the migrated database'
}

function afterMigrations({ other_servers: others }: UpgradePlan, migrations: number): string {
  if (migrations === 0) return 'nothing to migrate'
  const after =
    (others ?? []).length === 0
      ? 'earlier versions refuse it afterwards'
      : 'servers of earlier versions go on, but do not start on it again'
  return `${count(migrations, 'migration')}; ${after}`
}

function whatRuns(sandboxes: RunningSandboxes | null): [string, string] {
  if (sandboxes === null) return ['agents', 'unknown: the server is an earlier version or does not answer']
  const what = countsOf(sandboxes)
  if (what === null) return ['agents', 'none is running']
  return sandboxes.outlive ? ['goes on', what] : ['ends', `${what}, because SVC_SANDBOX_LEASE_SECONDS is 0`]
}

function refused(ctx: Context, { problems, from }: UpgradePlan): Refusal {
  return new Refusal('not_available', `The upgrade can't run. The server goes on as it is (process ${from.pid})`, {
    hint: problems.length === 1 ? 'Fix the problem above, then try again.' : 'Fix the problems above, then try again.',
    next: [withThisProgram(ctx, 'svc self-host upgrade --check')],
    detail: { upgraded: false, problems },
  })
}
