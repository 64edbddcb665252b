import { describe, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ServiceError } from '@svc/contract/errors'
import { git } from '../../git/git.ts'
import { writeLink } from '../../config/link-file.ts'
import { theChecks } from '../../testing/check.ts'
import {
  aChangeRequest,
  aDiff,
  aPatch,
  cleanPreview,
  ids,
  previewToConfirm,
  sha,
  startService,
  svc,
} from '../../testing.ts'

const env = { SVC_PROJECT_ID: ids.project }
const sandbox = { SVC_PROJECT_ID: ids.project, SVC_SESSION_ID: ids.session, SVC_BRANCH_NAME: ids.session }

async function checkout(branch: string): Promise<{ path: string; [Symbol.asyncDispose](): Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), 'svc-cli-'))
  await git(path, ['init', '--quiet', `--initial-branch=${branch}`], process.env)
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}

describe('svc cr ls', () => {
  test('cr ls lists open change requests by default', async () => {
    await using service = startService()
    const { stdout } = await svc(['cr', 'ls'], { service, env })
    expect(stdout).toBe(`#3\topen\tAdd a greeting\tgreeting → main\t${aChangeRequest().updated_at}\n`)
    await svc(['cr', 'ls', '--status', 'all', '--limit', '5'], { service, env })
    expect(service.of('listChangeRequests').map((request) => request.query)).toEqual([
      { status: 'open', limit: '100' },
      { status: 'all', limit: '5' },
    ])
  })

  test('cr ls prints no data for an empty list, and a hint on a terminal', async () => {
    await using service = startService({ listChangeRequests: () => ({ change_requests: [] }) })
    const { code, stdout, stderr } = await svc(['cr', 'ls'], { service, env })
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
    expect(stderr).toContain('No open change requests')
  })

  test('cr ls says once when to try again', async () => {
    await using service = startService({
      listChangeRequests: () => {
        throw new ServiceError('unavailable', 'The server that keeps this project, bob, is not running.', {
          hint: 'Try again in a moment.',
          detail: { retry_after_seconds: 2 },
        })
      },
    })
    const { stderr } = await svc(['cr', 'ls'], { service, env })
    expect(stderr).toEndWith('error: The server that keeps this project, bob, is not running.\nTry again in 2 s.\n')
  })

  test('cr ls aligns columns on a terminal and shortens long titles', async () => {
    const titles = [
      '短い',
      'A title that is far too long for the width of this terminal, so that it has to be cut somewhere before its end',
    ]
    await using service = startService({
      listChangeRequests: () => ({
        change_requests: titles.map((title, i) => aChangeRequest({ title, number: i + 9 })),
      }),
    })
    const { stdout } = await svc(['cr', 'ls', '--no-color'], { service, env, terminal: true })
    const lines = stdout.trimEnd().split('\n')
    expect(lines[0]).toStartWith('#    STATUS  TITLE')
    const column = Bun.stringWidth(lines[0]!.slice(0, lines[0]!.indexOf('HEAD')))
    for (const line of lines.slice(1)) {
      expect(Bun.stringWidth(line.slice(0, line.indexOf('greeting →')))).toBe(column)
      expect(Bun.stringWidth(line)).toBeLessThanOrEqual(100)
    }
    expect(lines[2]).toContain('…')
  })
})

describe('a base branch that the git host protects', () => {
  const refusal = (can_open_pull_request: boolean) =>
    new ServiceError('branch_protected', 'The git host does not let this project push to "main": GH006', {
      detail: { reason: 'GH006', base_ref: 'main', can_open_pull_request },
    })

  test("cr merge shows the host's reason and the command that opens a pull request", async () => {
    await using service = startService({
      mergeChangeRequest: () => {
        throw refusal(true)
      },
    })
    const refused = await svc(['cr', 'merge', '3'], { service, env })
    expect(refused.code).toBe(1)
    expect(refused.stderr).toContain('does not let this project push to "main": GH006')
    expect(refused.stderr).toContain('$ svc cr pull-request 3')
    const opened = await svc(['cr', 'pull-request', '3'], { service, env })
    expect([opened.code, opened.stdout]).toEqual([
      0,
      '✓ Pull request #12 for #3 Add a greeting\n  https://git.example.com/team/app/pull/12\n',
    ])
  })

  test('cr merge asks the user to merge on a host without an API', async () => {
    await using service = startService({
      mergeChangeRequest: () => {
        throw refusal(false)
      },
    })
    const { stderr } = await svc(['cr', 'merge', '3'], { service, env })
    expect(stderr).toContain('Merge greeting into main on the git host')
    expect(stderr).not.toContain('pull-request')
  })
})

describe('a repository that is still being fetched', () => {
  const progress = { is_first: true, phase: 'receiving', objects: 120_000, objects_total: 400_000, bytes: 48_200_000 }
  const fetching = new ServiceError('repository_fetching', 'The repository is being fetched for the first time.', {
    detail: { retry_after_seconds: 2, progress },
  })
  const text = 'Fetching the repository for the first time: 120,000 of 400,000 objects, 48.2 MB'

  test('cr show waits for the first fetch and shows its progress on a terminal', async () => {
    let [previews, merges] = [0, 0]
    await using service = startService({
      previewChangeRequest: () => {
        if (++previews < 4) throw fetching
        return cleanPreview
      },
      mergeChangeRequest: () => {
        if (++merges < 3) throw fetching
        throw new ServiceError('base_moved', 'Moved')
      },
    })
    const shown = await svc(['cr', 'show', '3'], { service, env, terminal: true })
    expect(shown.code).toBe(0)
    expect(shown.stderr).toContain(text)
    expect(service.of('previewChangeRequest')).toHaveLength(4)

    const merged = await svc(['cr', 'merge', '3'], { service, env })
    expect(merged.stderr).toContain('Moved')
    expect(merged.stderr).not.toContain('Fetching')
    const keys = service.of('mergeChangeRequest').map((request) => request.headers.get('idempotency-key'))
    expect([keys.length, new Set(keys).size]).toEqual([3, 1])
  })
})

describe('the argument that names a change request', () => {
  test.each(['3', '#3'])('finds a change request by its number %s', async (given) => {
    await using service = startService()
    expect((await svc(['cr', 'show', given], { service, env })).code).toBe(0)
    expect(service.of('listChangeRequests')[0]!.query).toEqual({ number: '3' })
  })

  test('finds a change request by its id', async () => {
    await using service = startService()
    expect((await svc(['cr', 'show', ids.cr.toUpperCase()], { service, env })).code).toBe(0)
    expect(service.of('getChangeRequest')[0]!.params).toEqual({ projectId: ids.project, crId: ids.cr })
  })

  test('finds a change request by the current branch', async () => {
    await using folder = await checkout('greeting')
    const older = aChangeRequest({ number: 1, cr_id: ids.sandbox, status: 'merged' })
    await using service = startService({
      listChangeRequests: () => ({ change_requests: [aChangeRequest(), older] }),
    })
    expect((await svc(['cr', 'show', '@'], { service, env, cwd: folder.path })).stdout).toContain('#3 Add a greeting')
    expect(service.of('listChangeRequests')[0]!.query).toEqual({ status: 'all', head_ref: 'greeting' })
    await using none = startService({ listChangeRequests: () => ({ change_requests: [] }) })
    const missing = await svc(['cr', 'show', '@'], { service: none, env, cwd: folder.path })
    expect(missing.code).toBe(1)
    expect(missing.stderr).toContain('svc cr open --head greeting')
    await using two = startService({
      listChangeRequests: () => ({
        change_requests: [aChangeRequest(), aChangeRequest({ number: 4, cr_id: ids.sandbox })],
      }),
    })
    expect((await svc(['cr', 'show', '@'], { service: two, env, cwd: folder.path })).stderr).toContain('#3, #4')
  })

  test('refuses @ on the default branch without suggesting to open a change request', async () => {
    await using folder = await checkout('main')
    await using service = startService({ listChangeRequests: () => ({ change_requests: [] }) })
    const { code, stderr } = await svc(['cr', 'show', '@'], { service, env, cwd: folder.path })
    expect(code).toBe(1)
    expect(stderr).toContain('main is the default branch')
    expect(stderr).toContain('svc cr ls')
    expect(stderr).not.toContain('svc cr open')
  })

  test('finds the change request of the session in a sandbox without a checkout', async () => {
    await using service = startService({
      listChangeRequests: () => ({ change_requests: [aChangeRequest({ head_ref: ids.session })] }),
    })
    expect((await svc(['cr', 'show', '@'], { service, env: sandbox })).code).toBe(0)
    expect((await svc(['cr', 'show', '@'], { service, env })).code).toBe(1)
  })

  test('refuses an argument that names no change request', async () => {
    await using service = startService({ listChangeRequests: () => ({ change_requests: [] }) })
    expect((await svc(['cr', 'show', '99'], { service, env })).stderr).toContain('No change request matches "#99')
    for (const wrong of ['#', '-3', '../x', 'a b', 'a..b'])
      expect((await svc(['cr', 'show', '--', wrong], { service, env })).code).toBe(2)
    // A valid branch name.
    expect((await svc(['cr', 'show', 'three'], { service, env })).code).toBe(1)
  })
})

describe('svc cr show', () => {
  const previews: [string, object, string][] = [
    ['a fast-forward', {}, 'clean: fast-forward'],
    ['a merge commit', { can_fast_forward: false }, 'clean: merge commit'],
    ['branches without a common past', { can_fast_forward: false, merge_base: null }, 'share no history'],
    ['nothing to merge', { is_up_to_date: true, can_fast_forward: false }, 'nothing to merge'],
    ['conflicts', { can_merge: false, conflicts: ['a.txt', 'b/c.txt'] }, 'conflicts in 2 files'],
  ]
  test.each(previews)('cr show describes %s', async (_, changes, words) => {
    await using service = startService({ previewChangeRequest: () => ({ ...cleanPreview, ...changes }) })
    const { code, stdout, stderr } = await svc(['cr', 'show', '3'], { service, env })
    expect(code).toBe(0)
    expect(stdout).toContain(words)
    if (words.startsWith('conflicts')) {
      expect(stdout).toContain('conflict: b/c.txt')
      expect(stderr).toContain('git merge origin/main')
    }
  })

  test('cr show says that a branch was deleted, and does not suggest to merge', async () => {
    const cr = aChangeRequest({ missing_ref: 'greeting' })
    await using service = startService({
      previewChangeRequest: () => cleanPreview,
      listChangeRequests: () => ({ change_requests: [cr] }),
    })
    const { stdout, stderr } = await svc(['cr', 'show', '3'], { service, env })
    expect(stdout).toContain('the branch greeting was deleted')
    expect(stderr).not.toContain('svc cr merge')
  })

  test('cr show lists the change requests that the merge would break', async () => {
    const files = ['a.txt', 'b.txt', 'c.txt', 'd.txt', 'e.txt', 'f\x1b[31m.txt', 'g.txt']
    const collisions = [
      { number: 7, files: ['a.txt'] },
      { number: 5, files },
    ]
    await using service = startService({
      previewChangeRequest: () => ({ ...cleanPreview, collisions, collisions_truncated: true }),
    })
    const { stdout } = await svc(['cr', 'show', '3'], { service, env })
    expect(service.of('previewChangeRequest')[0]!.query).toEqual({ include: 'collisions,effects' })
    expect(stdout).toContain('collides with #7: a.txt\n')
    expect(stdout).toContain('collides with #5: a.txt, b.txt, c.txt, d.txt, e.txt and 2 more\n')
    expect(stdout).toContain('only the newest open change requests')
    const asJson = (await svc(['cr', 'show', '3', '--json'], { service, env })).json<{ merge_preview: object }>()
    expect(asJson.merge_preview).toMatchObject({ collisions })
  })

  test('cr show prints no preview for a merged change request, and cr info is an alias', async () => {
    const merged = aChangeRequest({
      status: 'merged',
      merged_at: aChangeRequest().created_at,
      merge_commit_sha: sha('c'),
      description: 'Why\nnot',
    })
    await using service = startService({ listChangeRequests: () => ({ change_requests: [merged] }) })
    const { stdout } = await svc(['cr', 'info', '3'], { service, env })
    expect(stdout).toContain('as cccccccccc')
    expect(stdout).toContain('Why\nnot')
    expect(service.of('previewChangeRequest')).toEqual([])
    expect((await svc(['cr', 'show', '3', '--json'], { service, env })).json()).toEqual({
      change_request: merged,
      merge_preview: null,
      checks: theChecks(),
    })
  })

  test('cr show quotes branch names in the commands that it suggests', async () => {
    await using service = startService({
      listChangeRequests: () => ({ change_requests: [aChangeRequest({ head_ref: 'x;touch$IFS/tmp/y' })] }),
      previewChangeRequest: () => ({ ...cleanPreview, can_merge: false, conflicts: ['a'] }),
    })
    expect((await svc(['cr', 'show', '3'], { service, env })).stderr).toContain("git switch 'x;touch$IFS/tmp/y'")
  })
})

describe('svc cr diff', () => {
  test('cr diff prints the exact patch in a pipe', async () => {
    const patch = `${aPatch}+\x1b[31m\r\n\u202e`
    await using service = startService({ diffChangeRequest: () => aDiff(patch) })
    expect((await svc(['cr', 'diff', '3'], { service, env })).stdout).toBe(patch)
  })

  test('cr diff colors a line by its kind, not by its text, on a terminal', async () => {
    await using service = startService()
    const { stdout } = await svc(['cr', 'diff', '3'], { service, env: { ...env, SVC_PAGER: 'cat' }, terminal: true })
    expect(stdout).toContain('\x1b[31m--- old\x1b[39m')
    expect(stdout).toContain('\x1b[32m+++ new\x1b[39m')
    expect(stdout).toContain('\x1b[1m--- a/page.html\x1b[22m')
    const plain = await svc(['cr', 'diff', '3', '--no-color'], {
      service,
      env: { ...env, SVC_PAGER: 'cat' },
      terminal: true,
    })
    expect(plain.stdout).toBe(aPatch)
  })

  test('cr diff says when the patch is truncated, and --stat lists only files', async () => {
    await using service = startService({ diffChangeRequest: () => ({ ...aDiff(), truncated: true }) })
    expect((await svc(['cr', 'diff', '3'], { service, env })).stderr).toContain('ends early')
    expect((await svc(['cr', 'diff', '3', '--stat'], { service, env })).stdout).toBe('page.html\tmodified\t+1\t-1\n')
    await svc(['cr', 'diff', '3', '--renames'], { service, env })
    expect(service.of('diffChangeRequest').map((request) => request.query)).toEqual([{}, {}, { renames: '1' }])
  })

  test('cr diff --since names its starting commit and what it omits', async () => {
    const since = { sha: 'a'.repeat(40), rewritten: true, base_moved: true, conflicts: ['a.txt'] }
    await using service = startService({ diffChangeRequest: () => ({ ...aDiff(), since }) })
    const { stdout, stderr } = await svc(['cr', 'diff', '3', '--since', since.sha], { service, env })
    expect(stdout).toBe(aPatch)
    expect(stderr).toContain('The branch was rewritten')
    expect(stderr).toContain('Changes merged from main are omitted.')
    expect(stderr).toContain('Both sides changed a.txt')
    expect(service.of('diffChangeRequest')[0]!.query).toEqual({ since: since.sha })
  })

  test.each(['-w', '--ignore-whitespace'])(
    'cr diff %s ignores whitespace and counts the files that have no other change',
    async (flag) => {
      await using service = startService({ diffChangeRequest: () => ({ ...aDiff(), whitespace_only: ['a', 'b'] }) })
      const { code, stdout, stderr } = await svc(['cr', 'diff', '3', flag], { service, env })
      expect({ code, stdout }).toEqual({ code: 0, stdout: aPatch })
      expect(stderr).toContain('Whitespace is ignored: 2 files change nothing else and are left out.')
      expect(service.of('diffChangeRequest').map((request) => request.query)).toEqual([{ ignore_whitespace: '1' }])
      expect((await svc(['cr', 'diff', '--help'])).stdout).toContain('-w, --ignore-whitespace')
    },
  )
})

describe('svc cr open', () => {
  test('cr open needs only a title in a sandbox', async () => {
    await using service = startService()
    const { code, stdout, stderr } = await svc(['cr', 'open', '--title', 'Add a greeting'], { service, env: sandbox })
    expect(code).toBe(0)
    expect(stdout).toContain('#3\topen\tAdd a greeting')
    expect(stderr).toContain('svc cr diff 3 · only a user can merge: svc cr merge 3')
    const [request] = service.of('openChangeRequest')
    expect(request!.body).toEqual({ title: 'Add a greeting', head_ref: ids.session, session_id: ids.session })
    expect(request!.headers.get('idempotency-key')).toMatch(/^[0-9a-f-]{36}$/)
  })

  test.each([
    ['open', ['--head', 'h', '--base', 'b', '--description', 'd', '--session', 's']],
    ['new', ['--from', 'h', '--into', 'b', '--body', 'd', '--session', 's']],
    ['create', ['--from=h', '--into=b', '--body=d', '--session=s']],
  ])('cr %s accepts the flags %p', async (verb, flags) => {
    await using service = startService()
    expect((await svc(['cr', verb, '--title', 't', ...flags], { service, env: sandbox })).code).toBe(0)
    expect(service.of('openChangeRequest')[0]!.body).toEqual({
      title: 't',
      head_ref: 'h',
      base_ref: 'b',
      description: 'd',
      session_id: 's',
    })
  })

  test('cr open takes the head from SVC_BRANCH_NAME or SVC_HEAD_REF', async () => {
    await using service = startService()
    await svc(['cr', 'open', '--title', 't'], { service, env: { ...env, SVC_HEAD_REF: 'other' } })
    await svc(['cr', 'open', '--title', 't'], {
      service,
      env: { ...env, SVC_HEAD_REF: 'other', SVC_BRANCH_NAME: 'first' },
    })
    expect(service.of('openChangeRequest').map((request) => (request.body as { head_ref: string }).head_ref)).toEqual([
      'other',
      'first',
    ])
  })

  test('cr open takes the head from --head or the branch of a linked folder outside a sandbox', async () => {
    await using service = startService()
    await using folder = await checkout('my-work')
    const unlinked = await svc(['cr', 'open', '--title', 't'], { service, env, cwd: folder.path })
    expect(unlinked.code).toBe(2)
    expect(unlinked.stderr).toContain('Missing --head <ref>')
    expect(service.received).toEqual([])
    await writeLink(folder.path, { project_id: ids.project, account_id: ids.account, host: 'selfhost', host_url: null })
    expect((await svc(['cr', 'open', '--title', 't'], { service, cwd: folder.path })).code).toBe(0)
    expect(service.of('openChangeRequest')[0]!.body).toEqual({ title: 't', head_ref: 'my-work' })
  })

  test('cr open reads the description from stdin', async () => {
    await using service = startService()
    await svc(['cr', 'open', '--title', 't', '--body', '-'], { service, env: sandbox, stdin: 'Two\nlines\n' })
    expect(service.of('openChangeRequest')[0]!.body).toMatchObject({ description: 'Two\nlines' })
  })

  test('cr open warns about possible mistakes and opens the change request anyway', async () => {
    await using service = startService({
      previewChangeRequest: () => ({ ...cleanPreview, is_up_to_date: true, can_fast_forward: false }),
      listChangeRequests: () => ({
        change_requests: [aChangeRequest(), aChangeRequest({ number: 2, cr_id: ids.sandbox })],
      }),
    })
    const args = ['cr', 'open', '--title', 't', '--head', 'greeting']
    const asText = await svc(args, { service, env })
    expect(asText.code).toBe(0)
    expect(asText.stderr).toContain('no commits ahead of main')
    expect(asText.stderr).toContain('#2 with the same head is also open')
    expect(asText.stderr).toContain('svc cr diff 3 · svc cr merge 3')
    const asJson = await svc([...args, '--json'], { service, env })
    expect(asJson.json()).toMatchObject({ number: 3 })
    expect(asJson.stderr).toContain('{"warning":"greeting has no commits ahead of main')
  })
})

describe('svc cr merge', () => {
  test('cr merge sends the head commit that it read', async () => {
    await using service = startService()
    const { code, stdout, stderr } = await svc(['cr', 'merge', '3', '--message', 'Greet'], { service, env })
    expect(code).toBe(0)
    expect(stderr).toContain('The merge was a fast-forward, so the message is not used')
    expect(stdout).toContain('Merged #3 Add a greeting: main fast-forwarded to aaaaaaaaaa')
    const [request] = service.of('mergeChangeRequest')
    expect(request!.body).toEqual({ message: 'Greet', expected_head_sha: sha('a') })
    expect(request!.headers.get('idempotency-key')).toMatch(/^[0-9a-f-]{36}$/)
  })

  test('cr merge does not ask on a terminal when no check failed', async () => {
    await using service = startService()
    expect((await svc(['cr', 'merge', '3'], { service, env, terminal: true })).code).toBe(0)
    expect(service.of('mergeChangeRequest')[0]!.body).toEqual({ expected_head_sha: sha('a') })
  })

  test('cr merge without a terminal warns of each effect that needs confirmation', async () => {
    await using service = startService({
      previewChangeRequest: () => previewToConfirm('The secret PAY_KEY goes to pay.example.'),
    })
    const { code, stderr } = await svc(['cr', 'merge', '3'], { service, env })
    expect(code).toBe(0)
    expect(stderr).toContain('! The secret PAY_KEY goes to pay.example.')
    expect(service.of('mergeChangeRequest')).toHaveLength(1)
  })

  test('cr merge lists the conflicting files and the four steps that resolve them', async () => {
    await using service = startService({
      mergeChangeRequest: () => {
        throw new ServiceError('merge_conflict', 'Merge failed', { detail: { conflicts: ['a.txt', 'b.txt'] } })
      },
    })
    const { code, stdout, stderr } = await svc(['cr', 'merge', '3'], { service, env })
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain('error: Merge failed')
    for (const part of [
      'conflict: a.txt',
      'conflict: b.txt',
      'git switch greeting',
      'git merge origin/main',
      'git commit --all',
      'git push origin HEAD',
      'svc cr show 3',
    ])
      expect(stderr).toContain(part)
    const asJson = await svc(['cr', 'merge', '3', '--json'], { service, env })
    expect(asJson.problem()).toMatchObject({
      error: 'Merge failed',
      code: 'merge_conflict',
      conflicts: ['a.txt', 'b.txt'],
    })
    expect(asJson.problem().next).toHaveLength(4)
  })

  test.each([
    ['head_moved', 'svc cr diff 3'],
    ['agent_merge_forbidden', 'Only a user can merge'],
    ['not_open', 'Refused'],
  ] as const)('cr merge explains the refusal %s and what to do', async (refusal, words) => {
    await using service = startService({
      mergeChangeRequest: () => {
        throw new ServiceError(refusal, 'Refused')
      },
    })
    const { code, stderr } = await svc(['cr', 'merge', '3'], { service, env })
    expect(code).toBe(1)
    expect(stderr).toContain(words)
  })
})

test('cr close and reopen print the result', async () => {
  await using service = startService()
  expect((await svc(['cr', 'close', '3'], { service, env })).stdout).toBe('✓ Closed #3 Add a greeting\n')
  expect((await svc(['cr', 'reopen', '3'], { service, env })).stdout).toBe('✓ Reopened #3 Add a greeting\n')
  expect(service.of('closeChangeRequest')[0]!.params.crId).toBe(ids.cr)
})
