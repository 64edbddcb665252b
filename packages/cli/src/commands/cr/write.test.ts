/** Change requests: drafts, text from commits and an editor, edits, reviews, and every way to name one. */
import { describe, expect, test } from 'bun:test'
import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ServiceError } from '@svc/contract/errors'
import { aCommit, aComparison, aReview, aSuggestion, aThread } from '../../testing/browse.ts'
import { aChangeRequest, aProject, ids, now, sha, startService, svc, temporaryFolder } from '../../testing.ts'

const env = { SVC_PROJECT_ID: ids.project }

/** An editor that saves its input and writes `text`. */
async function editorThat(folder: string, text: string): Promise<string> {
  const path = join(folder, 'editor.sh')
  await writeFile(path, `#!/bin/sh\ncp "$1" ${folder}/shown\nprintf '${text}' > "$1"\n`)
  await chmod(path, 0o755)
  return path
}

describe('svc cr open', () => {
  test('cr open --fill takes title and description from the only commit', async () => {
    await using service = startService()
    const { code } = await svc(['cr', 'new', '--fill', '--head', 'greeting'], { service, env })
    expect(code).toBe(0)
    expect(service.of('compareRefs')[0]!.query).toEqual({ head: 'greeting' })
    expect(service.of('openChangeRequest')[0]!.body).toEqual({
      ...{ title: 'Add a greeting', head_ref: 'greeting', description: 'It greets.' },
    })
  })

  test('cr open --fill lists several commits, oldest first, and takes the title from the branch name', async () => {
    await using service = startService({ compareRefs: () => aComparison([aCommit('Second'), aCommit('First')]) })
    await svc(['cr', 'new', '--fill', '--head', 'greeting', '--base', 'release'], { service, env })
    expect(service.of('compareRefs')[0]!.query).toEqual({ head: 'greeting', base: 'release' })
    expect(service.of('openChangeRequest')[0]!.body).toMatchObject({
      title: 'greeting',
      description: '- First\n- Second',
    })
  })

  test('cr open --fill refuses a branch without commits', async () => {
    await using service = startService({ compareRefs: () => aComparison([]) })
    const { code, stderr } = await svc(['cr', 'new', '--fill', '--head', 'greeting'], { service, env })
    expect([code, stderr]).toEqual([1, expect.stringContaining('greeting has no commits ahead of main')])
    expect(service.of('openChangeRequest')).toEqual([])
  })

  test('cr open --draft opens a draft and prints the command that marks it as ready', async () => {
    await using service = startService()
    const { stderr } = await svc(['cr', 'new', '--draft', '--title', 'x', '--head', 'greeting'], { service, env })
    expect(service.of('openChangeRequest')[0]!.body).toMatchObject({ metadata: { draft: true } })
    expect(stderr).toContain('svc cr ready 3')
    expect(stderr).not.toContain('svc cr merge')
  })

  test('cr open --web opens the page that creates a change request', async () => {
    await using service = startService()
    const { stdout } = await svc(['cr', 'new', '--web', '--head', 'a/b'], { service, env })
    expect(stdout).toBe(`${service.url}/projects/${ids.project}/change-requests/new?head=a%2Fb\n`)
    expect(service.of('openChangeRequest')).toEqual([])
  })

  test('cr open opens the editor when there is no title on a terminal', async () => {
    await using service = startService()
    await using folder = await temporaryFolder()
    const EDITOR = await editorThat(folder.path, 'Greet all\n\nWith care.\n')
    const ran = await svc(['cr', 'new', '--head', 'greeting'], { service, env: { ...env, EDITOR }, terminal: true })
    expect(ran.code).toBe(0)
    expect(await Bun.file(join(folder.path, 'shown')).text()).toStartWith('Add a greeting\n\nIt greets.')
    const [sent] = service.of('openChangeRequest')
    expect(sent!.body).toEqual({ title: 'Greet all', description: 'With care.', head_ref: 'greeting' })
    const VISUAL = await editorThat(folder.path, '')
    const empty = await svc(['cr', 'new', '--head', 'greeting'], { service, env: { ...env, VISUAL }, terminal: true })
    expect([empty.code, empty.stderr]).toEqual([1, expect.stringContaining('The title is empty')])
    const failed = await svc(['cr', 'new', '--head', 'h'], {
      service,
      env: { ...env, EDITOR: 'false' },
      terminal: true,
    })
    expect([failed.code, failed.stderr]).toEqual([1, expect.stringContaining('The editor "false" exited with 1')])
    expect(service.of('openChangeRequest')).toHaveLength(1)
  })
})

test('cr show marks a draft, cr merge refuses it, and cr ready ends it', async () => {
  const draft = aChangeRequest({ metadata: { draft: true, note: 1 } })
  await using service = startService({
    listChangeRequests: () => ({ change_requests: [draft] }),
    mergeChangeRequest: () => {
      throw new ServiceError('conflict', 'This change request is a draft', { detail: { draft: true } })
    },
  })
  expect((await svc(['cr', 'ls'], { service, env })).stdout).toContain('#3\tdraft\t')
  expect((await svc(['cr', 'show', '3'], { service, env })).stderr).toContain('svc cr ready 3')
  const merge = await svc(['cr', 'merge', '3', '--json'], { service, env })
  expect(merge.problem()).toMatchObject({ next: ['svc cr ready 3', 'svc cr merge 3'] })
  expect((await svc(['cr', 'ready', '3'], { service, env })).code).toBe(0)
  expect((await svc(['cr', 'ready', '3', '--undo'], { service, env })).code).toBe(0)
  expect(service.of('editChangeRequest').map(({ body }) => body)).toEqual([
    { metadata: { note: 1 } },
    { metadata: { note: 1, draft: true } },
  ])
})

test('cr edit sends the given fields, or what the editor wrote', async () => {
  await using service = startService()
  await using folder = await temporaryFolder()
  await svc(['cr', 'edit', '3', '--title', 'New'], { service, env })
  await svc(['cr', 'edit', '3', '--body', '-'], { service, env, stdin: 'Why\n' })
  const EDITOR = await editorThat(folder.path, 'T\n\nD')
  await svc(['cr', 'edit', '3'], { service, env: { ...env, EDITOR }, terminal: true })
  expect(service.of('editChangeRequest').map(({ body }) => body)).toEqual([
    ...[{ title: 'New' }, { description: 'Why' }, { title: 'T', description: 'D' }],
  ])
  expect((await svc(['cr', 'edit', '3'], { service, env })).code).toBe(2)
})

test('cr review sends to the session, cr comment only stores, and cr show prints both', async () => {
  await using service = startService()
  await svc(['cr', 'review', '3', '--body', 'Why 30?', '--at', 'src/a.ts:12'], { service, env })
  await svc(['cr', 'comment', '3', '--body', '-'], { service, env, stdin: 'On Monday\n' })
  expect(service.of('createReview').map(({ body }) => body)).toEqual([
    { head_sha: sha('a'), send: true, comments: [{ path: 'src/a.ts', line: 12, side: 'new', text: 'Why 30?' }] },
    { head_sha: sha('a'), send: false, body: 'On Monday' },
  ])
  expect((await svc(['cr', 'review', '3', '--body', 'x', '--at', 'a.ts'], { service, env })).code).toBe(2)
  expect((await svc(['cr', 'show', '3', '--comments'], { service, env })).stdout).toContain('Please add a test')
})

describe('svc cr apply', () => {
  const suggesting = (comment_id: string, refusal: string | null) => aSuggestion({ comment_id }, refusal)
  const listed = {
    listReviews: () => ({
      reviews: [
        aReview({ thread: null, comments: [suggesting(ids.user, null), suggesting(ids.token, 'Its lines changed.')] }),
      ],
    }),
  }

  test('cr apply sends the suggestions it names, or all that can be applied', async () => {
    await using service = startService(listed)
    const { code, stdout } = await svc(['cr', 'apply', '7777', '--cr', '3', '-m', 'So'], { service, env })
    expect([code, stdout]).toEqual([0, expect.stringContaining('Applied 1 suggestion in cccccccccc')])
    expect((await svc(['cr', 'apply', '--all', '--cr', '3'], { service, env })).code).toBe(0)
    expect(service.of('applySuggestions').map(({ body }) => body)).toEqual([
      { comment_ids: [ids.token], expected_head_sha: expect.any(String), message: 'So' },
      { comment_ids: [ids.user], expected_head_sha: expect.any(String) },
    ])
    expect((await svc(['cr', 'reviews', '3'], { service, env })).stderr).toContain('svc cr apply 22222222 --cr 3')
  })

  test('cr apply needs ids or --all, and a suggestion', async () => {
    await using service = startService()
    expect((await svc(['cr', 'apply', '--cr', '3'], { service, env })).code).toBe(2)
    const { code, stderr } = await svc(['cr', 'apply', '--all', '--cr', '3'], { service, env })
    expect([code, stderr]).toEqual([1, expect.stringContaining('no suggestion that can be applied')])
  })
})

describe('svc cr reviews and svc cr answer', () => {
  const placed = (id: string, changes: object = {}) => ({
    ...{ path: 'a.ts', side: 'new', line: 4, start_line: null, quote: '', text: 'Why 30?', outdated: false },
    ...{ current: { path: 'b.ts', line: 7, start_line: null }, ...aThread({ comment_id: id, ...changes }) },
  })
  const reply = {
    ...{ reply_id: ids.cr, text: 'It has to wait.', outcome: 'declined', commit: null, created_by: null },
    ...{ created_by_name: 'Ada', session_id: ids.session, created_at: new Date(now - 60_000).toISOString() },
  }
  const answered = {
    ...{ state: 'answered', answer: { outcome: 'declined', commit: null, answered_at: reply.created_at } },
    replies: [reply],
  }
  const listed = {
    listReviews: () => ({
      reviews: [aReview({ thread: null, comments: [placed(ids.user), placed(ids.token, answered)] })],
    }),
  }

  test('cr reviews lists the comments with short ids, states and current places', async () => {
    await using service = startService(listed)
    const { stdout, stderr } = await svc(['cr', 'reviews', '3'], { service, env })
    expect(stdout).toBe('22222222\topen\tb.ts:7\tWhy 30?\n77777777\tdeclined\tb.ts:7\tWhy 30?\n')
    expect(stderr).toContain('1 of 2 answered.')
    expect(stderr).toContain('svc cr answer 22222222 --cr 3 --done')
    expect((await svc(['cr', 'reviews', '3', '--open'], { service, env })).stdout).not.toContain('77777777')
    const shown = await svc(['cr', 'show', '3', '--comments'], { service, env })
    expect(shown.stdout).toContain('Agent declined')
    expect(shown.stdout).toContain('It has to wait.')
  })

  test('cr answer finds the comment by the start of its id, and completes the commit from the repository', async () => {
    await using service = startService(listed)
    await using folder = await temporaryFolder()
    const run = (...args: string[]) =>
      Bun.spawnSync(['git', '-C', folder.path, ...args])
        .stdout.toString()
        .trim()
    run('init', '--quiet')
    run('-c', 'user.name=A', '-c', 'user.email=a@example.com', 'commit', '--quiet', '--allow-empty', '-m', 'x')
    const head = run('rev-parse', 'HEAD')
    const here = { service, env: { ...env, PATH: process.env.PATH ?? null }, cwd: folder.path }
    expect((await svc(['cr', 'answer', '2222', '--cr', '3', '--done', '--commit', head.slice(0, 8)], here)).code).toBe(
      0,
    )
    await svc(['cr', 'answer', '7777', '--cr', '3', '--decline', '-'], { ...here, stdin: 'No.\n' })
    expect(service.of('answerComment').map(({ params, body }) => [params.commentId, body])).toEqual([
      [ids.user, { outcome: 'done', text: '', commit: head }],
      [ids.token, { outcome: 'declined', text: 'No.' }],
    ])
    expect((await svc(['cr', 'answer', '2222', '--cr', '3', '--done', '--commit', 'beef'], here)).code).toBe(2)
  })

  test.each([[[]], [['--done', '--decline', 'x']], [['--decline', 'x', '--commit', 'a']]])(
    'cr answer refuses %j as a mistake in usage',
    async (flags) => {
      await using service = startService(listed)
      expect((await svc(['cr', 'answer', '2222', '--cr', '3', ...flags], { service, env })).code).toBe(2)
      expect(service.of('answerComment')).toEqual([])
    },
  )
})

test('cr diff --name-only prints one file per line', async () => {
  await using service = startService()
  expect((await svc(['cr', 'diff', '3', '--name-only'], { service, env })).stdout).toBe('page.html\n')
})

test('the short flags and aliases of gh work', async () => {
  await using service = startService()
  await svc(['cr', 'ls', '-s', 'all', '-B', 'main', '-H', 'greeting', '-S', 'log', '-L', '5'], { service, env })
  await svc(['cr', 'list', '--state', 'all', '--limit', '5'], { service, env })
  expect(service.of('listChangeRequests').map(({ query }) => query)).toEqual([
    { status: 'all', base_ref: 'main', head_ref: 'greeting', search: 'log', limit: '5' },
    { status: 'all', limit: '5' },
  ])
  await svc(['cr', 'create', '-t', 'A', '-b', 'B', '-H', 'work', '-B', 'main', '-d'], { service, env })
  expect(service.of('openChangeRequest')[0]!.body).toEqual({
    ...{ title: 'A', description: 'B', head_ref: 'work', base_ref: 'main', metadata: { draft: true } },
  })
  await svc(['cr', 'edit', '3', '-t', 'A', '-b', 'B'], { service, env })
  expect(service.of('editChangeRequest')[0]!.body).toEqual({ title: 'A', description: 'B' })
  expect((await svc(['cr', 'view', '3', '-c'], { service, env })).code).toBe(0)
  expect((await svc(['cr', 'comment', '3', '-b', 'x'], { service, env })).code).toBe(0)
})

test('cr ls filters by author, head and base on the server', async () => {
  await using service = startService()
  await svc(['cr', 'ls', '--author', '@me', '--base', 'main', '-L', '5'], { service, env })
  await svc(['cr', 'ls', '--author', 'bo@example.com', '--head', 'greeting'], { service, env })
  expect(service.of('listChangeRequests').map(({ query }) => query)).toEqual([
    { status: 'open', limit: '5', created_by: ids.user, base_ref: 'main' },
    { status: 'open', limit: '100', created_by: ids.token, head_ref: 'greeting' },
  ])
})

test('cr show finds a change request by its branch and by the URL of its page', async () => {
  await using service = startService()
  const show = (named: string) => svc(['cr', 'show', named], { service, env })
  for (const named of ['greeting', `${service.url}/projects/app/change-requests/3/files`])
    expect((await show(named)).stdout).toContain('#3 Add a greeting')
  expect(await show('https://other.example.com/projects/app/change-requests/3')).toMatchObject({ code: 2 })
  expect((await show(`${service.url}/projects/app/sessions/3`)).code).toBe(2)
  await using ofSession = startService({
    getChangeRequest: () => {
      throw new ServiceError('not_found', 'There is no such change request')
    },
    listChangeRequests: () => ({ change_requests: [aChangeRequest({ head_ref: ids.session })] }),
  })
  expect((await svc(['cr', 'show', ids.session], { service: ofSession, env })).code).toBe(0)
})

describe('the project of a clone', () => {
  async function clone(remote: string) {
    const folder = await temporaryFolder()
    Bun.spawnSync(['git', 'init', '--quiet', folder.path])
    Bun.spawnSync(['git', '-C', folder.path, 'remote', 'add', 'origin', remote])
    return folder
  }
  const other = aProject({ project_id: ids.sandbox, slug: 'other', repo_url: 'https://git.example.com/team/other' })

  test.each([
    'https://git.example.com/team/app',
    'git@git.example.com:team/app.git',
    'ssh://git@GIT.example.com/team/app',
  ])('finds the project by the git remote %s', async (remote) => {
    await using folder = await clone(remote)
    await using service = startService({ listProjects: () => [other, aProject()] })
    const { code, stderr } = await svc(['cr', 'ls'], { service, cwd: folder.path })
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('Project app, by the git remote') })
    expect(service.of('listChangeRequests')[0]!.params.projectId).toBe(ids.project)
  })

  test("finds the project by the service's git URL without listing projects", async () => {
    await using service = startService()
    await using folder = await clone(`${service.url}/v1/projects/${ids.project}/git`)
    expect((await svc(['cr', 'ls'], { service, cwd: folder.path })).code).toBe(0)
    expect(service.of('listProjects')).toEqual([])
  })

  test.each([
    'http://HOST/v1/projects/app/git',
    'http://HOST/v1/projects/app/git/',
    'http://ada:secret@HOST/v1/projects/app/git',
    'http://secret@HOST/v1/projects/ID/git',
    'http://localhost:PORT/v1/projects/app/git',
    'https://svc.example.com/v1/projects/app/git',
  ])("finds the project by the service's git URL %s", async (form) => {
    const git_url = `https://svc.example.com/v1/projects/${ids.project}/git`
    await using service = startService({ listProjects: () => [other, aProject({ git_url })] })
    const { host, port } = new URL(service.url)
    await using folder = await clone(form.replace('HOST', host).replace('PORT', port).replace('ID', ids.project))
    const { code, stderr } = await svc(['cr', 'ls'], { service, cwd: folder.path })
    expect({ code, stderr }).toMatchObject({ code: 0 })
    expect(service.of('listChangeRequests')[0]!.params.projectId).toBe(ids.project)
  })

  test('refuses a remote of the service whose project it does not find, and shows no password of its URL', async () => {
    await using service = startService({ listProjects: () => [other] })
    await using folder = await clone(`http://ada:secret@${new URL(service.url).host}/v1/projects/gone/git`)
    const { code, stderr } = await svc(['cr', 'ls'], { service, cwd: folder.path })
    expect([code, stderr]).toEqual([1, expect.stringContaining('The remote origin of this clone is the project gone')])
    expect(stderr).toContain(`git remote set-url origin ${service.url}/v1/projects/<id>/git`)
    expect(stderr).not.toContain('secret')
  })

  test('finds the project of the remote to which the branch pushes, and guesses none of several', async () => {
    await using service = startService({ listProjects: () => [other, aProject()] })
    const { host } = new URL(service.url)
    await using folder = await clone(`http://${host}/v1/projects/${ids.project}/git`)
    const git = (...args: string[]) => expect(Bun.spawnSync(['git', '-C', folder.path, ...args]).exitCode).toBe(0)
    git('symbolic-ref', 'HEAD', 'refs/heads/work')
    const list = () => svc(['cr', 'ls'], { service, cwd: folder.path })
    const listed = async () => {
      const { code, stderr } = await list()
      return [code, stderr, service.of('listChangeRequests').at(-1)!.params.projectId]
    }
    // Another form of the same URL is the same project, as is its repository on a git host.
    git('remote', 'add', 'again', `http://ada@${host}/v1/projects/app/git`)
    git('remote', 'add', 'host', 'git@git.example.com:team/app.git')
    expect(await listed()).toEqual([0, expect.not.stringContaining('Project'), ids.project])

    git('remote', 'add', 'lib', `http://${host}/v1/projects/other/git`)
    const { code, stderr } = await list()
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining('origin is app, again is app, host is app, lib is other'),
    ])
    for (const command of [
      'svc projects link app',
      'svc projects link other',
      'git config remote.pushDefault <remote>',
    ])
      expect(stderr).toContain(command)
    expect((await svc(['-R', 'other', 'cr', 'ls'], { service, cwd: folder.path })).code).toBe(0)
    expect(service.of('listChangeRequests').at(-1)!.params.projectId).toBe(ids.sandbox)

    const chosen = (name: string) => expect.stringContaining(`by the remote ${name}, to which this branch pushes`)
    git('config', 'branch.work.remote', 'origin')
    expect(await listed()).toEqual([0, chosen('origin'), ids.project])
    git('config', 'remote.pushDefault', 'lib')
    expect(await listed()).toEqual([0, chosen('lib'), ids.sandbox])
    git('config', 'branch.work.pushRemote', 'host')
    expect(await listed()).toEqual([0, chosen('host'), ids.project])
    // A branch may push to a place that is no project.
    git('remote', 'add', 'elsewhere', 'https://git.example.com/ada/app.git')
    git('config', 'branch.work.pushRemote', 'elsewhere')
    expect((await list()).code).toBe(1)
    git('config', 'branch.work.pushRemote', 'lost')
    git('remote', 'add', 'lost', `http://${host}/v1/projects/gone/git`)
    expect((await list()).stderr).toContain('The remote lost of this clone is the project gone')
  })

  test('guesses no project when none or several match, and -R names one', async () => {
    await using folder = await clone('https://git.example.com/team/app.git')
    await using none = startService({ listProjects: () => [other] })
    expect((await svc(['cr', 'ls'], { service: none, cwd: folder.path })).stderr).toContain('svc projects link')
    await using two = startService({ listProjects: () => [aProject({ slug: 'app-2' }), aProject()] })
    const { code, stderr } = await svc(['cr', 'ls'], { service: two, cwd: folder.path })
    expect([code, stderr]).toEqual([1, expect.stringContaining('2 projects use the repository of this clone')])
    expect((await svc(['-R', 'app-2', 'cr', 'ls'], { service: two, cwd: folder.path })).code).toBe(0)
  })
})
