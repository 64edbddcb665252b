/** From a prompt to a merged change, with everything real but the model: on a clone of this project's own repository, and on an external one behind plain `git http-backend`. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { serveHttpBackend } from '@svc/git/testing'
import { git, root, Server, until } from './harness.ts'

interface Session {
  session_id: string
  status: string
  error: string | null
}
interface ChangeRequest {
  cr_id: string
  number: number
  title: string
  status: string
  origin_session_id: string | null
  head_ref: string
  head_commit_sha: string
  merge_commit_sha: string | null
}
interface Transcript {
  messages: {
    role: string
    parts: { type: string; text?: string; tool?: string; output?: string; status?: string }[]
  }[]
}

/** One shell command a line, run by the scripted model through the runtime's own bash tool. */
function script(...commands: string[]): string {
  return ['Do this.', '', '```svc-script', ...commands, '```'].join('\n')
}

const minutes = 60_000
let server: Server
let host: Awaited<ReturnType<typeof serveHttpBackend>> | null = null
let dir: string

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'svc-story-'))
  server = await Server.start({}, [], { fromNothing: true })
}, 2 * minutes)

afterAll(async () => {
  await server?.end()
  await host?.close()
  await rm(dir, { recursive: true, force: true })
}, minutes)

async function startSession(project: string, prompt: string): Promise<string> {
  const made = await server.json<Session>([
    'sessions',
    'new',
    '--no-wait',
    '--model',
    'svc-scripted-demo',
    '--prompt',
    prompt,
    '--project',
    project,
  ])
  return made.session_id
}

async function openedBy(project: string, sessionId: string): Promise<ChangeRequest> {
  return until('the agent to open a change request', async () => {
    const { session } = await server.json<{ session: Session }>(['sessions', 'info', sessionId, '--project', project])
    if (session.status === 'failed') throw new Error(`The session failed: ${session.error}`)
    const listed = await server.json<{ change_requests: ChangeRequest[] }>(['cr', 'ls', '--project', project])
    return listed.change_requests.find((cr) => cr.origin_session_id === sessionId)
  })
}

async function toolOutputs(project: string, sessionId: string): Promise<string> {
  const response = await server.api(`/v1/projects/${project}/sessions/${sessionId}/transcript`)
  const { messages } = (await response.json()) as Transcript
  return messages.flatMap((message) => message.parts.map((part) => `${part.output ?? ''}${part.text ?? ''}`)).join('\n')
}

describe('the whole story on a clone of this repository', () => {
  let project: string
  let bare: string

  test('creates a project from the clone', async () => {
    bare = join(dir, 'own.git')
    await git(dir, 'clone', '--quiet', '--bare', root, bare)
    await git(bare, 'update-ref', 'refs/heads/main', 'HEAD')
    await git(bare, 'symbolic-ref', 'HEAD', 'refs/heads/main')
    const made = await server.json<{ project_id: string; default_branch: string }>([
      'projects',
      'create',
      '--repo',
      `file://${bare}`,
    ])
    project = made.project_id
    expect(made.default_branch).toBe('main')
  })

  test(
    'the agent edits, commits, pushes and opens a change request; the user reviews and merges it',
    async () => {
      const before = await git(bare, 'rev-parse', 'main')
      const sessionId = await startSession(
        project,
        script(
          'printf "An agent was here.\\n" > AGENT.md',
          'git add AGENT.md && git commit -m "docs: say that an agent was here"',
          'git push origin HEAD',
          'svc cr open --title "Say that an agent was here"',
        ),
      )
      const cr = await openedBy(project, sessionId)
      expect(cr).toMatchObject({ number: 1, status: 'open', title: 'Say that an agent was here', head_ref: sessionId })

      const shown = await server.svc(['cr', 'show', '1', '--project', project])
      expect(shown.stdout).toContain('Say that an agent was here')
      expect(shown.stdout).toMatch(/fast-forward/i)
      const diff = await server.svc(['cr', 'diff', '1', '--project', project])
      expect(diff.stdout).toContain('+An agent was here.')
      expect(await git(bare, 'rev-parse', 'main')).toBe(before)

      const merged = await server.svc(['cr', 'merge', '1', '--project', project])
      expect(merged.code).toBe(0)
      expect(await git(bare, 'show', 'main:AGENT.md')).toBe('An agent was here.')
      expect(await git(bare, 'rev-parse', 'main')).toBe(cr.head_commit_sha)
      expect(await git(bare, 'log', '-1', '--format=%P', 'main')).toBe(before)
    },
    4 * minutes,
  )

  test(
    "the agent's own token cannot merge, push to main, force, tag, or see another project",
    async () => {
      const other = await server.json<{ project_id: string }>(['projects', 'create', '--name', 'other'])
      const before = await git(bare, 'rev-parse', 'main')
      const sessionId = await startSession(
        project,
        script(
          'echo more >> AGENT.md && git commit -qam "docs: more" && git push -q origin HEAD && svc cr open --title "More"',
          'echo "merge: $(svc cr merge 2 2>&1); code $?"',
          'echo "api: $(curl -s -o /dev/null -w %{http_code} -X POST -H "Authorization: Bearer $SVC_CLI_TOKEN" $SVC_API_URL/projects/$SVC_PROJECT_ID/cli-token)"',
          'echo "push main: $(git push origin HEAD:main 2>&1)"',
          'echo "push force: $(git push --force origin HEAD~1:$SVC_BRANCH_NAME 2>&1)"',
          'echo "push tag: $(git push origin HEAD:refs/tags/v1 2>&1)"',
          'echo "push other: $(git push origin HEAD:refs/heads/other 2>&1)"',
          `echo "other project: $(svc projects info --project ${other.project_id} 2>&1; svc cr ls --project ${other.project_id} 2>&1)"`,
          'echo "service key: $(SVC_CLI_TOKEN=$SVC_TOKEN svc cr ls 2>&1)"',
          'echo "ALL DONE"',
        ),
      )
      await openedBy(project, sessionId)
      const said = await until('the agent to try everything', async () => {
        const text = await toolOutputs(project, sessionId)
        return /^ALL DONE/m.test(text) && text
      })
      expect(said).toMatch(/merge: [^]*(agent_merge_forbidden|may not merge|does not merge|cannot merge)/i)
      for (const attempt of ['push main', 'push force', 'push tag', 'push other'])
        expect(said).toMatch(new RegExp(`${attempt}: [^]*?(rejected|refused|denied|error:|fatal:)`))
      expect(said).toMatch(/other project: [^]*(another project|forbidden)/i)
      expect(said).toMatch(/service key: [^]*(not accepted|unauthenticated|token)/i)
      expect(await git(bare, 'rev-parse', 'main')).toBe(before)
      expect(await git(bare, 'for-each-ref', '--format=%(refname)', 'refs/tags/v1', 'refs/heads/other')).toBe('')
      const cr = await server.json<{ change_request: ChangeRequest }>(['cr', 'show', '2', '--project', project])
      expect(cr.change_request.status).toBe('open')
    },
    4 * minutes,
  )
})

describe('the whole story on an external repository behind git http-backend', () => {
  test(
    'the same story works over http with a credential of the host that no sandbox sees',
    async () => {
      const repositories = join(dir, 'external')
      await mkdir(repositories)
      await git(dir, 'init', '--quiet', '--bare', '--initial-branch=trunk', join(repositories, 'app.git'))
      await git(dir, 'init', '--quiet', '--initial-branch=trunk', join(dir, 'seed'))
      await Bun.write(join(dir, 'seed/app.txt'), 'one\n')
      await git(join(dir, 'seed'), 'add', '.')
      await git(join(dir, 'seed'), 'commit', '--quiet', '-m', 'First')
      await git(join(dir, 'seed'), 'push', '--quiet', join(repositories, 'app.git'), 'trunk')
      host = await serveHttpBackend(join(repositories, 'app.git'), {
        auth: { username: 'bot', password: 'host-password-canary' },
      })
      const { url } = host

      const refused = await server.svc(['projects', 'create', '--repo', url])
      expect(refused.code).toBe(1)
      expect(refused.stderr).toContain('--git-token')
      const made = await server.json<{ project_id: string; default_branch: string }>(
        ['projects', 'create', '--repo', url, '--git-username', 'bot', '--git-token', '-'],
        {
          input: 'host-password-canary\n',
        },
      )
      expect(made.default_branch).toBe('trunk')

      const sessionId = await startSession(
        made.project_id,
        script(
          'echo two >> app.txt && git commit -qam "app: two"',
          'git push origin HEAD',
          'env; cat ~/.gitconfig /workspace/.git/config; git remote -v',
          'svc cr open --title "Two"',
        ),
      )
      await openedBy(made.project_id, sessionId)
      // Another user pushes meanwhile, so that this merge is a three-way merge.
      await Bun.write(join(dir, 'seed/other.txt'), 'other\n')
      await git(join(dir, 'seed'), 'add', '.')
      await git(join(dir, 'seed'), 'commit', '--quiet', '-m', 'Outside')
      await git(join(dir, 'seed'), 'push', '--quiet', join(repositories, 'app.git'), 'trunk')

      const merged = await server.svc(['cr', 'merge', '1', '--project', made.project_id])
      expect(merged.stderr + merged.stdout).not.toContain('error')
      expect(merged.code).toBe(0)
      const bare = join(repositories, 'app.git')
      expect(await git(bare, 'show', 'trunk:app.txt')).toBe('one\ntwo')
      expect(await git(bare, 'show', 'trunk:other.txt')).toBe('other')
      expect(await git(bare, 'log', '-1', '--format=%an <%ae> %s', 'trunk')).toBe(
        'svc <noreply@svc.invalid> Merge CR #1: Two',
      )
      expect(await toolOutputs(made.project_id, sessionId)).not.toContain('host-password-canary')
    },
    4 * minutes,
  )
})
