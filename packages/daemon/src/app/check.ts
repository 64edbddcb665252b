/** Runs the command of a check once on the received files and reports the result. */
import { agentEnvironment } from '../child.ts'
import { endedWithin, type LoggedChild, startLogged } from './child.ts'
import { type AppRun, type AppRunOptions, durationText } from './run.ts'

export function createCheckRun({ log, changed, identity, paths, proxy }: AppRunOptions): AppRun {
  let child: LoggedChild | null = null
  let starts = 0
  let exitCode: number | null = null

  return {
    get starts() {
      return starts
    },
    get exitCode() {
      return exitCode
    },
    async begin(spec) {
      changed('building', null)
      starts = 1
      log.add('svc', `$ ${spec.build ?? ''}`)
      const env = {
        ...spec.env,
        ...proxy,
        ...agentEnvironment(paths.home),
        ...{ CI: 'true', SVC_CHECK: spec.slug, SVC_TREE: spec.commit },
      }
      const command = ['/bin/bash', '-c', spec.build ?? '']
      const running = startLogged({ command, stream: 'run', cwd: paths.workspace, env, identity, log })
      child = running
      const began = Date.now()
      const { how, code, isLate } = await endedWithin(running, spec.build_ms_max)
      const took = durationText(Date.now() - began)
      if (isLate) return fail(`The check was stopped after its time limit of ${durationText(spec.build_ms_max)}.`)
      exitCode = code
      if (code !== 0) return fail(`The command ended with ${how} after ${took}.`)
      log.add('svc', `passed in ${took}`)
      changed('done', null)
    },
    stop() {
      child?.kill()
    },
  }

  function fail(reason: string): void {
    log.add('svc', reason)
    changed('failed', reason)
  }
}
