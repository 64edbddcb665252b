import { join } from 'node:path'
import { tempDir } from '../testing.ts'

export type GitClient = ReturnType<typeof clientAt>

/** A user's git, with its own settings and identity and none of ours. */
export async function makeClient(): Promise<GitClient & { remove(): Promise<void> }> {
  const temp = await tempDir('svc-git-client')
  return { ...clientAt(temp.path), remove: temp.remove }
}

export function clientAt(cwd: string) {
  const env = {
    PATH: process.env.PATH ?? '/usr/bin:/bin',
    HOME: '/nonexistent',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    LC_ALL: 'C',
    GIT_AUTHOR_NAME: 'a',
    GIT_AUTHOR_EMAIL: 'a@svc.invalid',
    GIT_COMMITTER_NAME: 'a',
    GIT_COMMITTER_EMAIL: 'a@svc.invalid',
  }
  return {
    cwd,
    env,
    run: async (...args: string[]) => {
      const child = Bun.spawn(['git', ...args], { cwd, env, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' })
      const [out, err, code] = await Promise.all([
        new Response(child.stdout).text(),
        new Response(child.stderr).text(),
        child.exited,
      ])
      return { code, out: out.trim(), err: err.trim() }
    },
    write: async (path: string, content: string) => void (await Bun.write(join(cwd, path), content)),
  }
}
