/** Builds an app, starts it, waits until it answers, and restarts it when it ends. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'

import type { AppProcessState, AppSpec } from '@svc/contract/daemon/control'

import { agentEnvironment, lastLines } from '../child.ts'
import type { AgentIdentity, DaemonPaths } from '../config.ts'
import { endedWithin, type LoggedChild, startLogged } from './child.ts'
import { answersOn } from './health.ts'
import type { AppLog } from './log.ts'

export interface AppRunOptions {
  identity: AgentIdentity
  paths: Pick<DaemonPaths, 'workspace' | 'home'>
  /** The command that starts this program as the agent. */
  program: string[]
  /** Variables that make programs use the egress proxy. */
  proxy: Record<string, string>
  log: AppLog
  changed: (state: AppProcessState, error: string | null) => void
  /** Delays before each restart, in milliseconds. After the last one the app has failed. */
  pausesMs?: number[]
}

export interface AppRun {
  readonly starts: number
  /** The exit code of a check; null for an app. */
  readonly exitCode: number | null
  /** Resolves when the app answers or has failed; `changed` reports later changes. */
  begin(spec: AppSpec): Promise<void>
  stop(): void
}

const pauses = [500, 1000, 2000, 4000, 8000, 16_000]
/** An exit after this long does not count toward the restart limit. */
const settledMs = 60_000

export function createAppRun(options: AppRunOptions): AppRun {
  const { log, changed, identity, paths } = options
  const pausesMs = options.pausesMs ?? pauses
  let child: LoggedChild | null = null
  let stopped = false
  let starts = 0
  let ends = 0

  async function build(spec: AppSpec, env: Record<string, string>): Promise<string | null> {
    if (spec.build === null) return null
    changed('building', null)
    log.add('svc', `building: ${spec.build}`)
    const began = Date.now()
    const building = startLogged({ ...shell(spec.build), stream: 'build', cwd: paths.workspace, env, identity, log })
    child = building
    const { how, code, isLate } = await endedWithin(building, spec.build_ms_max)
    child = null
    if (code === 0) {
      log.add('svc', `built in ${durationText(Date.now() - began)}`)
      return null
    }
    const what = isLate ? `was stopped after its time limit of ${durationText(spec.build_ms_max)}` : `ended with ${how}`
    return `The build ${what}.${lastOutput(log.last('build', 12))}`
  }

  function commandOf(spec: AppSpec): string[] | string {
    if (spec.command !== null) return ['/bin/bash', '-c', spec.command]
    const folder = join(paths.workspace, spec.static_dir ?? '')
    if (!existsSync(folder))
      return `The folder ${spec.static_dir ?? ''} does not exist. Commit it, or let build create it.`
    return [...options.program, 'app-files', folder, String(spec.port)]
  }

  async function begin(spec: AppSpec): Promise<void> {
    const env = environment(spec)
    const broken = await build(spec, env)
    if (stopped) return
    if (broken !== null) return fail(broken)
    const command = commandOf(spec)
    if (typeof command === 'string') return fail(command)
    await start(spec, command, env, null)
  }

  /** `before`: why the previous start ended; null for the first start. */
  async function start(
    spec: AppSpec,
    command: string[],
    env: Record<string, string>,
    before: string | null,
  ): Promise<void> {
    changed(before === null ? 'starting' : 'restarting', before)
    starts += 1
    log.add('svc', spec.command === null ? `serving ${spec.static_dir}` : `starting: ${spec.command}`)
    const running = startLogged({ command, stream: 'run', cwd: paths.workspace, env, identity, log })
    child = running
    const startedAt = Date.now()
    let over: string | null = null
    const ended = running.ended.then(({ how }) => {
      over = how
      // Also kills its helpers, which would keep the port.
      running.kill()
      return how
    })
    const answer = await answersOn(spec.port, { msMax: spec.start_ms_max, isOver: () => over !== null || stopped })
    if (stopped) return
    if (answer.kind === 'answers') {
      log.add('svc', `answers on port ${spec.port} after ${durationText(Date.now() - startedAt)}`)
      changed('ready', null)
      void ended.then((how) => {
        if (!stopped) void again(spec, command, env, { how, startedAt })
      })
      return
    }
    running.kill()
    const how = await ended
    const what =
      answer.kind === 'over'
        ? `The app ended with ${how} before it answered on port ${spec.port}.`
        : `The app did not answer on port ${spec.port} within ${durationText(spec.start_ms_max)}: ${answer.reason}`
    const reason = what + lastOutput(log.last('run', 12))
    if (before === null) return fail(reason)
    return again(spec, command, env, { how: '', startedAt, reason })
  }

  async function again(
    spec: AppSpec,
    command: string[],
    env: Record<string, string>,
    end: { how: string; startedAt: number; reason?: string },
  ): Promise<void> {
    if (Date.now() - end.startedAt > settledMs) ends = 0
    const pause = pausesMs[ends++]
    const what = end.reason ?? `The app ended with ${end.how}.${lastOutput(log.last('run', 12))}`
    if (pause === undefined) return fail(`${what} It was started ${starts} times and will not be restarted.`)
    log.add('svc', `${what.split('\n')[0]} Restarting in ${durationText(pause)}.`)
    changed('restarting', what)
    await Bun.sleep(pause)
    if (!stopped) await start(spec, command, env, what)
  }

  function fail(reason: string): void {
    log.add('svc', reason)
    changed('failed', reason)
  }

  /** The app gets its own variables and none of the platform's. */
  const environment = (spec: AppSpec): Record<string, string> => ({
    ...spec.env,
    ...options.proxy,
    ...agentEnvironment(paths.home),
    PORT: String(spec.port),
    SVC_APP: spec.slug,
    SVC_COMMIT: spec.commit,
  })

  return {
    get starts() {
      return starts
    },
    exitCode: null,
    begin,
    stop() {
      stopped = true
      child?.kill()
    },
  }
}

const shell = (line: string) => ({ command: ['/bin/bash', '-c', line] })
/** Such as `40 ms`, `1.5 s` or `12 s`. */
export function durationText(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  return ms < 10_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 1000)} s`
}

function lastOutput(text: string): string {
  const output = lastLines(text, 6)
  return output === '' ? '' : ` Its last lines: ${output}`
}
