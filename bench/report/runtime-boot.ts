import { join } from 'node:path'
import { git, root, run, until } from '../../test/e2e/harness.ts'

/** From spawning the bare agent runtime to its first response, in milliseconds. `whenReady` runs before it ends. */
export async function runtimeBoot(
  home: string,
  whenReady: (runtime: { pid: number; port: number; startedAt: number }) => Promise<void> = async () => {},
  config: object = {},
): Promise<number> {
  const port = 40_000 + Math.floor(Math.random() * 20_000)
  const binary = join(root, `node_modules/opencode-linux-${process.arch === 'arm64' ? 'arm64' : 'x64'}/bin/opencode`)
  const disable = Object.fromEntries(
    ['AUTOUPDATE', 'MODELS_FETCH', 'LSP_DOWNLOAD', 'SHARE', 'DEFAULT_PLUGINS'].map((name) => [
      `OPENCODE_DISABLE_${name}`,
      '1',
    ]),
  )
  const work = join(home, 'work')
  await run(['mkdir', '-p', work])
  await git(work, 'init', '--quiet')
  await Bun.write(join(work, 'opencode.json'), JSON.stringify(config))
  const startedAt = performance.now()
  const child = Bun.spawn([binary, 'serve', '--port', String(port), '--hostname', '127.0.0.1'], {
    cwd: work,
    env: { PATH: process.env.PATH ?? '', HOME: home, ...disable },
    stdout: 'ignore',
    stderr: 'ignore',
  })
  try {
    await until('the runtime to answer', async () => {
      const answer = await fetch(`http://127.0.0.1:${port}/global/health`, {
        signal: AbortSignal.timeout(250),
        headers: { connection: 'close' },
      }).catch(() => null)
      return answer?.ok
    })
    const ms = performance.now() - startedAt
    await whenReady({ pid: child.pid, port, startedAt })
    return ms
  } finally {
    child.kill('SIGKILL')
    await child.exited
  }
}
