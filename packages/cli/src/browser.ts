/** Opens an address where a person can see it. */
import { spawn } from 'node:child_process'
import type { Io } from './io.ts'

/** What opens an address here, or null: over ssh and without a screen nobody would see it. */
function opener(env: Io['env']): string | null {
  if (env.BROWSER) return env.BROWSER
  if (process.platform === 'darwin') return 'open'
  const screen = env.DISPLAY || env.WAYLAND_DISPLAY || env.WSL_DISTRO_NAME
  return screen && !env.SSH_CONNECTION ? (env.WSL_DISTRO_NAME ? 'wslview' : 'xdg-open') : null
}

/** Whether a program that opens it was started. */
export function openBrowser({ env }: Pick<Io, 'env'>, url: string): Promise<boolean> {
  const program = opener(env)
  if (program === null || !/^https?:\/\//.test(url)) return Promise.resolve(false)
  return new Promise((resolve) => {
    // The address is an argument and never a part of a command line.
    const child = spawn(program, [url], { stdio: 'ignore', detached: true, env: env as NodeJS.ProcessEnv })
    child.once('error', () => resolve(false))
    child.once('spawn', () => {
      child.unref()
      resolve(true)
    })
  })
}
