/** Whether this program can take the place of the running server, and what that does. Changes nothing. */
import type { OtherServer, RunningSandboxes, ServerInfo, UpgradeReport } from '@svc/contract/daemon/owner-socket'
import { version } from '../config/build-values.ts'
import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'
import { askServer } from './ask-owner-link.ts'
import { askServerProgram } from './ask-program.ts'
import { askReady } from './ask-ready.ts'
import { serverCommand, withThisProgram } from './launch.ts'
import { isHere, keeperOf, programOf, type RunningProgram } from './running-program.ts'
import { servingServer } from './serving-server.ts'
import type { ServerState } from './state.ts'

/** The document of `--check --json`. */
export interface UpgradePlan {
  can_upgrade: boolean
  /** The server runs this program already. */
  is_current: boolean
  from: { version: string | null; program: string; pid: number; url: string; data_dir: string }
  to: { version: string; program: string }
  /** How many the start of this program applies; null when unknown. */
  migrations: number | null
  /** The sandboxes of the server; null when it does not report them. */
  sandboxes: RunningSandboxes | null
  /** The others of the database that run; null when unknown. */
  other_servers: OtherServer[] | null
  /** Whether the earlier program is in its place, and starts on the database as it is after the upgrade. */
  can_go_back: boolean
  problems: { says: string; mend: string | null }[]
}

export interface Upgrade {
  plan: UpgradePlan
  running: RunningProgram
  /** Null for a server that something else started. */
  server: ServerState | null
}

export async function planUpgrade(ctx: Context): Promise<Upgrade> {
  const server = await servingServer(ctx)
  const info = await askServer(ctx)
  const found = server ?? info
  if (found === null)
    throw new Refusal('not_available', 'No server is running, so there is nothing to upgrade', {
      hint: 'A start runs this version.',
      next: [withThisProgram(ctx, 'svc self-host start'), 'svc self-host status'],
    })
  const running = (await isHere(found)) ? await programOf(found.pid) : null
  if (running === null)
    throw new Refusal('not_available', `The program of process ${found.pid} can't be read`, {
      hint: 'Run this on Linux as the user who runs the server. Otherwise stop the server and start this program.',
      next: ['svc self-host stop', withThisProgram(ctx, 'svc self-host start')],
    })
  const ready = info?.version === undefined ? await askReady(found) : null
  const from = {
    ...{ version: info?.version ?? ready?.version ?? null, program: running.command[0] },
    ...{ pid: found.pid, url: found.url, data_dir: found.data_dir },
  }
  const to = { version, program: serverCommand()[0] }
  const sandboxes = info?.sandboxes ?? null
  const common = { is_current: running.isThisOne, from, to, sandboxes }
  if (running.isThisOne) {
    const none = {
      can_upgrade: false,
      migrations: 0,
      other_servers: null,
      can_go_back: running.isInPlace,
      problems: [],
    }
    return { plan: { ...common, ...none }, running, server }
  }
  const problems = server === null ? [await notOurs(found, running)] : []
  const report = await askServerProgram<UpgradeReport>(ctx, '--examine-upgrade', {
    ms: 60_000,
    otherwise: 'This program could not check the data of the running server.',
    env: running.env,
  })
  problems.push(...report.problems, ...otherDriver(sandboxes?.driver ?? ready?.sandbox.driver, report))
  const { migrations, other_servers } = report
  const can_go_back = running.isInPlace && startsAfter(report, info)
  return {
    plan: { ...common, can_upgrade: problems.length === 0, migrations, other_servers, can_go_back, problems },
    running,
    server,
  }
}

/** Whether the running program starts on the tables of the new one. Another server may have migrated them already. */
function startsAfter({ migrations, tables_version, other_servers }: UpgradeReport, info: ServerInfo | null): boolean {
  if (migrations !== 0) return false
  // A server of an earlier version does not report it.
  return info?.tables_version === undefined ? other_servers.length === 0 : info.tables_version >= tables_version
}

type Problem = UpgradePlan['problems'][number]

async function notOurs({ pid }: Pick<ServerInfo, 'pid'>, { env }: RunningProgram): Promise<Problem> {
  const keeper = await keeperOf(pid, env)
  switch (keeper.kind) {
    case 'systemd':
      return {
        says: `systemd runs the server (${keeper.unit}, process ${pid}) and would start the earlier program again.`,
        mend: `Replace its service by the one that svc self-host unit of this program prints, and restart it with systemctl. Agents go on.`,
      }
    case 'terminal':
      return {
        says: `The server runs in the foreground of a terminal (process ${pid}).`,
        mend: 'Press Ctrl-C there, and start this program in its place. Agents go on.',
      }
    case 'unknown':
      return {
        says: `Another program than svc self-host started the server (process ${pid}).`,
        mend: 'Stop the server there, and start this program in its place. Agents go on.',
      }
    default:
      return keeper satisfies never
  }
}

/** Only the driver of a sandbox can continue it. `auto` may choose another one than at the last start. */
function otherDriver(before: string | undefined, { driver }: UpgradeReport): Problem[] {
  if (before === undefined || before === 'none' || driver === null || driver === before) return []
  return [
    {
      says: `The running server's sandboxes use the ${before} driver, and this program would use ${driver}, which can't continue them.`,
      mend: `Set SVC_SANDBOX_DRIVER=${before}: svc self-host env set, then stop and start the server with its own program.`,
    },
  ]
}
