/** Runs one command on the files that were sent, once, and says how it ended. */
import { systemPath } from '../child.ts'
import { type LoggedChild, startLogged } from './child.ts'
import { type AppRun, type AppRunOptions, seconds } from './run.ts'

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
        ...{ PATH: systemPath, HOME: paths.home, SHELL: '/bin/bash', USER: 'agent', LANG: 'C.UTF-8', TERM: 'dumb' },
        ...{ CI: 'true', SVC_CHECK: spec.slug, SVC_TREE: spec.commit },
      }
      const command = ['/bin/bash', '-c', spec.build ?? '']
      const running = startLogged({ command, stream: 'run', cwd: paths.workspace, env, identity, log })
      child = running
      const began = Date.now()
      let isLate = false
      const late = setTimeout(() => {
        isLate = true
        running.kill()
      }, spec.build_ms_max)
      const { how, code } = await running.ended
      clearTimeout(late)
      // What it left running holds nothing up: the sandbox ends with it.
      running.kill()
      const took = seconds(Date.now() - began)
      if (isLate) return fail(`It was ended after ${seconds(spec.build_ms_max)}, the longest a check may take.`)
      exitCode = code
      if (code !== 0) return fail(`It ended with ${how} after ${took}.`)
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
