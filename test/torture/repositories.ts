/** Agents and external clients that work in a repository's own folder with git itself, past our engine. */
import { spawn } from 'node:child_process'

export async function gitIn(dir: string, args: string[], input = ''): Promise<string> {
  const ran = await tryGitIn(dir, args, input)
  if (ran.code !== 0) throw new Error(`git ${args.join(' ')}: ${ran.stderr}`)
  return ran.stdout.trim()
}

export async function tryGitIn(
  dir: string,
  args: string[],
  input = '',
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = spawn('git', [`--git-dir=${dir}`, ...args], {
    stdio: 'pipe',
    env: { PATH: process.env.PATH ?? '', HOME: '/nonexistent', GIT_CONFIG_NOSYSTEM: '1', LC_ALL: 'C' },
  })
  const [out, err]: Buffer[][] = [[], []]
  child.stdout.on('data', (chunk: Buffer) => out?.push(chunk))
  child.stderr.on('data', (chunk: Buffer) => err?.push(chunk))
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  return { code, stdout: Buffer.concat(out ?? []).toString(), stderr: Buffer.concat(err ?? []).toString() }
}

export interface NewCommit {
  branch: string
  file: string
  from: string | null
}

let clock = 1_700_000_000

/** Makes one commit on each of these branches in one go and returns their ids. */
export async function commitEach(dir: string, commits: NewCommit[]): Promise<string[]> {
  const stream = commits.map(({ branch, file, from }) => {
    const message = `Add ${file}`
    return [
      `commit refs/heads/${branch}`,
      `committer Ada <ada@example.test> ${clock++} +0000`,
      `data ${message.length}`,
      message,
      ...(from === null ? [] : [`from ${from}`]),
      `M 100644 inline ${file}`,
      `data ${branch.length + 1}`,
      `${branch}\n`,
    ].join('\n')
  })
  await gitIn(dir, ['fast-import', '--quiet', '--force', '--date-format=raw'], `${stream.join('\n')}\n`)
  const refs = await gitIn(dir, ['for-each-ref', '--format=%(refname) %(objectname)', 'refs/heads'])
  const tips = new Map(refs.split('\n').map((line) => line.split(' ') as [string, string]))
  return commits.map(({ branch }) => tips.get(`refs/heads/${branch}`) ?? '')
}

/** Commits on the branch past all our rules. null when another commit came first. */
export async function pushOutside(dir: string, ref: string, file: string): Promise<string | null> {
  const from = await gitIn(dir, ['rev-parse', `refs/heads/${ref}`])
  const [sha = ''] = await commitEach(dir, [{ branch: `outside/${file}`, file, from }])
  const moved = await tryGitIn(dir, ['update-ref', `refs/heads/${ref}`, sha, from])
  return moved.code === 0 ? sha : null
}
