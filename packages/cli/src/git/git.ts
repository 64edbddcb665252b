/** The user's own git. The engine that serves repositories is in another package. */
import { execFile } from 'node:child_process'
import { Refusal } from '../errors.ts'

const timeoutMs = 120_000

export async function git(
  cwd: string,
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  /** For transfers, which have no time limit and end only by an interrupt. */
  network?: { signal: AbortSignal },
): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(
      'git',
      [...args],
      // git must not prompt: its question would be invisible.
      {
        cwd,
        env: { ...env, GIT_TERMINAL_PROMPT: '0', LC_ALL: 'C' } as NodeJS.ProcessEnv,
        ...(network === undefined ? { timeout: timeoutMs } : { signal: network.signal }),
        maxBuffer: 4 << 20,
      },
      (error, stdout, stderr) => {
        if (error === null) return resolve(stdout)
        const missing = (error as NodeJS.ErrnoException).code === 'ENOENT'
        reject(
          new Refusal('git_failed', missing ? 'git is not installed' : `git ${args[0]} failed`, {
            hint: missing ? null : reasonsIn(stderr),
            cause: error,
          }),
        )
      },
    )
  })
}

/** The last lines. A refused ref repeats in brackets what the server said in a line of its own. */
function reasonsIn(stderr: string): string {
  const lines = stderr
    .trim()
    .split('\n')
    .map((line) => line.trim())
  const said = lines.filter((line) => line.startsWith('remote: ')).map((line) => `(${line.slice('remote: '.length)})`)
  const once = lines.filter((line) => !line.startsWith('! ') || !said.some((reason) => line.endsWith(reason)))
  return once.slice(-5).join(' · ')
}

export async function currentBranch(
  cwd: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<string | null> {
  const name = await git(cwd, ['symbolic-ref', '--quiet', '--short', 'HEAD'], env).catch(() => '')
  return name.trim() === '' ? null : name.trim()
}

export async function topOfRepository(
  cwd: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<string | null> {
  const top = await git(cwd, ['rev-parse', '--show-toplevel'], env).catch(() => '')
  return top.trim() === '' ? null : top.replace(/\n$/, '')
}

/** The remote that git's configuration names for pushes of a branch: mostly its name. Null if it names none. */
export async function pushRemoteOf(
  { cwd, env }: { cwd: string; env: Readonly<Record<string, string | undefined>> },
  branch: string | null,
): Promise<string | null> {
  const keys =
    branch === null
      ? ['remote.pushDefault']
      : [`branch.${branch}.pushRemote`, 'remote.pushDefault', `branch.${branch}.remote`]
  for (const key of keys) {
    const value = (await git(cwd, ['config', '--get', key], env).catch(isUnset)).trim()
    if (value !== '') return value
  }
  return null
}

/** git exits nonzero for a key without a value, and without a repository. */
function isUnset(): string {
  return ''
}
