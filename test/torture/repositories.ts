/** Agents and external clients that work in a repository's own folder with git itself, past our engine. */
import { gitEnvironment, type Ran, run } from '../e2e/harness.ts'

export async function gitIn(dir: string, args: string[], input = ''): Promise<string> {
  const ran = await tryGitIn(dir, args, input)
  if (ran.code !== 0) throw new Error(`git ${args.join(' ')}: ${ran.stderr}`)
  return ran.stdout.trim()
}

export function tryGitIn(dir: string, args: string[], input = ''): Promise<Ran> {
  return run(['git', `--git-dir=${dir}`, ...args], { input, env: gitEnvironment })
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

/** Makes one commit of these files on main and returns its id; null removes a file. */
export async function commitFiles(dir: string, files: Record<string, string | null>): Promise<string> {
  const changes = Object.entries(files).map(([path, text]) =>
    text === null ? `D ${path}` : `M 100644 inline ${path}\ndata ${Buffer.byteLength(text)}\n${text}`,
  )
  const head = `commit refs/heads/main\ncommitter Ada <ada@example.test> ${clock++} +0000\ndata 4\nwork`
  const stream = [head, 'from refs/heads/main^0', ...changes, '']
  await gitIn(dir, ['fast-import', '--quiet', '--date-format=raw'], stream.join('\n'))
  return gitIn(dir, ['rev-parse', 'refs/heads/main'])
}

/** Commits on the branch past all our rules. null when another commit came first. */
export async function pushOutside(dir: string, ref: string, file: string): Promise<string | null> {
  const from = await gitIn(dir, ['rev-parse', `refs/heads/${ref}`])
  const [sha = ''] = await commitEach(dir, [{ branch: `outside/${file}`, file, from }])
  const moved = await tryGitIn(dir, ['update-ref', `refs/heads/${ref}`, sha, from])
  return moved.code === 0 ? sha : null
}
