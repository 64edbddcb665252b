import { setDefaultTimeout } from 'bun:test'
import type { ChangeRequest, ErrorBody, Project } from '@svc/contract'
import type { Repository } from '@svc/git'
import { commit, type Files } from '@svc/git/testing'
import { projectPath, type TestApp, type TestRequest } from '../test-app.ts'

// A busy machine slows git down, which must not fail a test.
setDefaultTimeout(60_000)

export interface MergeReply {
  change_request: ChangeRequest
  merge: {
    merge_commit_sha: string
    fast_forward: boolean
    up_to_date: boolean
    base_sha_before: string
    base_sha_after: string
  }
}

export type Refusal = ErrorBody & { issues?: { path: string; message: string }[] }

export type TestProject = ReturnType<typeof testProject>

export function testProject(app: TestApp, { project, repo }: { project: Project; repo: Repository }) {
  /** Path of the project's change requests, of one of them, or of one's sub-resource. */
  const path = (crId?: string, verb?: string) => projectPath(project, 'change-requests', crId, verb)
  return {
    project,
    repo,
    path,
    /** Commits `files` on a new branch and opens a change request for it. */
    async open(branch: string, files: Files, more: object = {}) {
      await commit(repo, branch, files)
      const made = await app.request<ChangeRequest>('POST', path(), {
        body: { title: `Work of ${branch}`, head_ref: branch, ...more },
      })
      if (made.status !== 201) throw new Error(`Not opened: ${made.status} ${made.text}`)
      return made.body
    },
    async get(crId: string) {
      return (await app.request<{ change_request: ChangeRequest }>('GET', path(crId))).body.change_request
    },
    merge: (crId: string, options?: TestRequest) => app.request<MergeReply>('POST', path(crId, 'merge'), options),
    refusedMerge: (crId: string, options?: TestRequest) => app.request<Refusal>('POST', path(crId, 'merge'), options),
    tip: (branch: string) => gitText(repo, 'rev-parse', '--verify', `refs/heads/${branch}^{commit}`),
  }
}

/** Output of the git program itself, bypassing our engine. */
export async function gitText(repo: Pick<Repository, 'dir'>, ...args: string[]): Promise<string> {
  const who = ['-c', 'user.name=A test', '-c', 'user.email=test@example.test']
  const child = Bun.spawn(['git', '-C', repo.dir, ...who, ...args], { stdout: 'pipe', stderr: 'pipe' })
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  if (code !== 0) throw new Error(`git ${args.join(' ')}: ${err}`)
  return out.trim()
}

export interface AuditRow {
  action: string
  actor_kind: string
  session_id: string | null
  before: unknown
  after: unknown
}

export async function auditOfObject(app: TestApp, objectId: string): Promise<AuditRow[]> {
  return app.deps.db
    .selectFrom('audit_events')
    .select(['action', 'actor_kind', 'session_id', 'before', 'after'])
    .where('object_id', '=', objectId)
    .orderBy('event_id')
    .execute()
}
