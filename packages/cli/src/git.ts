/** The user's own git, on the user's own machine. The engine that serves repositories is another package. */
import { execFile } from 'node:child_process'
import { Refusal } from './errors.ts'

const timeoutMs = 120_000

export async function git(
  cwd: string,
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  /** For what moves data: it takes as long as it takes, until it is interrupted. */
  network?: { signal: AbortSignal },
): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(
      'git',
      [...args],
      // It may never wait for an answer: nobody sees the question.
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
            ...(missing ? {} : { hint: stderr.trim().split('\n').slice(-5).join(' · ') }),
            cause: error,
          }),
        )
      },
    )
  })
}

/** The branch that is checked out, or null: no repository, or no branch. */
export async function currentBranch(
  cwd: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<string | null> {
  const name = await git(cwd, ['symbolic-ref', '--quiet', '--short', 'HEAD'], env).catch(() => '')
  return name.trim() === '' ? null : name.trim()
}

/** The work tree this folder is in, or null. */
export async function topOfRepository(
  cwd: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<string | null> {
  const top = await git(cwd, ['rev-parse', '--show-toplevel'], env).catch(() => '')
  return top.trim() === '' ? null : top.replace(/\n$/, '')
}
