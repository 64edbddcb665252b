import { spawn } from 'node:child_process'
import type { Io } from '../io.ts'

/** The program that opens a URL, or null: over ssh and without a display nothing would be visible. */
function opener(env: Io['env']): string | null {
  if (env.BROWSER) return env.BROWSER
  if (process.platform === 'darwin') return 'open'
  const screen = env.DISPLAY || env.WAYLAND_DISPLAY || env.WSL_DISTRO_NAME
  return screen && !env.SSH_CONNECTION ? (env.WSL_DISTRO_NAME ? 'wslview' : 'xdg-open') : null
}

export function openBrowser({ env }: Pick<Io, 'env'>, url: string): Promise<boolean> {
  const program = opener(env)
  if (program === null || !/^https?:\/\//.test(url)) return Promise.resolve(false)
  return new Promise((resolve) => {
    // The URL is an argument, never part of a shell command.
    const child = spawn(program, [url], { stdio: 'ignore', detached: true, env: env as NodeJS.ProcessEnv })
    child.once('error', () => resolve(false))
    child.once('spawn', () => {
      child.unref()
      resolve(true)
    })
  })
}
