import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { allowOnlyBranch, type PushGate, hiddenRefs, updatesMax } from './gate.ts'
import { git } from '../process/git.ts'
import { pkt } from '../formats/pkt-line.ts'
import type { Sha } from '../repository.ts'
import { serveGitRequest, type ServeOptions } from '../serve/smart-http.ts'
import { commit, makeRepo, type TestRepository } from '../testing.ts'

/**
 * A pusher that writes its command list by hand. Whatever it writes, only its own branch may move, and only forward.
 * Every list here carries a pack that would be accepted, so that nothing but the list decides.
 */
let repo: TestRepository
let main: Sha
let work: Sha
let other: Sha
let ahead: Sha
let pack: Buffer
const zero = '0'.repeat(40)
const caps = '\0 report-status side-band-64k agent=git/2.39.5'
const oidOfNothing = 'd'.repeat(40)

beforeAll(async () => {
  repo = await makeRepo({ main: { a: '1\n' }, work: { b: '2\n' }, other: { c: '3\n' } })
  ;[main, work, other] = [await repo.tip('main'), await repo.tip('work'), await repo.tip('other')]
  ahead = await commit(repo, 'ahead', { b: '3\n' }, { from: work })
  await git(repo.dir, ['update-ref', '-d', 'refs/heads/ahead'])
  await git(repo.dir, ['update-ref', 'refs/svc/cr/1/head', other])
  await git(repo.dir, ['tag', 'v1', main])
  pack = (await git(repo.dir, ['pack-objects', '--stdout', '--revs', '--thin'], { input: `${ahead}\n^${work}\n` }))
    .stdout
})
afterAll(() => repo.remove())

async function push(
  list: (string | Uint8Array)[],
  options: { raw?: boolean; pack?: Uint8Array; body?: ReadableStream; gate?: PushGate; serve?: ServeOptions } = {},
) {
  const parts = options.raw
    ? list.map((part) => Buffer.from(part as string, 'latin1'))
    : [...list.map((line) => pkt(line)), Buffer.from('0000')]
  const body = options.body ?? new Response(Buffer.concat([...parts, options.pack ?? pack])).body
  const response = await serveGitRequest(
    repo,
    {
      method: 'POST',
      path: 'git-receive-pack',
      query: new URLSearchParams(),
      headers: new Headers({ 'content-type': 'application/x-git-receive-pack-request' }),
      body,
      signal: new AbortController().signal,
    },
    options.gate ?? allowOnlyBranch('work'),
    options.serve,
  )
  return { status: response.status, text: await response.text() }
}

async function refs(): Promise<string> {
  return (await git(repo.dir, ['for-each-ref'])).stdout.toString() + (await Bun.file(`${repo.dir}/HEAD`).text())
}

const to =
  (ref: string, from = () => zero, target = () => ahead) =>
  () => [`${from()} ${target()} ${ref}${caps}`]
const own = () => `${work} ${ahead} refs/heads/work`

/** Name and the packets of a list that follows the framing. */
const hostile: [string, () => (string | Uint8Array)[]][] = [
  ['default branch, fast-forward', to('refs/heads/main', () => main)],
  ['default branch, created again', to('refs/heads/main')],
  [
    'default branch, deleted',
    to(
      'refs/heads/main',
      () => main,
      () => zero,
    ),
  ],
  [
    'default branch, forced',
    to(
      'refs/heads/main',
      () => main,
      () => other,
    ),
  ],
  ['default branch by another spelling', to('refs/heads/Main')],
  ['default branch with a slash before', to('/refs/heads/main', () => main)],
  ['default branch with a slash behind', to('refs/heads/main/', () => main)],
  ['default branch with a double slash', to('refs/heads//main', () => main)],
  ['default branch with a dot part', to('refs/heads/./main', () => main)],
  ['default branch by way of a parent', to('refs/heads/work/../main', () => main)],
  ['default branch with a space behind', to('refs/heads/main ', () => main)],
  ['default branch with a line end behind', to('refs/heads/main\nx', () => main)],
  ['default branch with a carriage return', to('refs/heads/main\r', () => main)],
  ['default branch with a tab', to('refs/heads/main\t', () => main)],
  ['default branch below itself', to('refs/heads/main/x')],
  ['default branch as a lock', to('refs/heads/main.lock')],
  ['default branch in a reflog spelling', to('refs/heads/main@{0}', () => main)],
  ['short name', to('main', () => main)],
  ['short name of its own', to('work', () => work)],
  ['heads/ name', to('heads/main', () => main)],
  ['HEAD', to('HEAD', () => main)],
  [
    'HEAD deleted',
    to(
      'HEAD',
      () => main,
      () => zero,
    ),
  ],
  ['refs/HEAD', to('refs/HEAD')],
  ['refs/heads itself', to('refs/heads')],
  ['refs/heads/ itself', to('refs/heads/')],
  ['refs itself', to('refs')],
  ['FETCH_HEAD', to('FETCH_HEAD')],
  ['ORIG_HEAD', to('ORIG_HEAD')],
  ['the config file', to('config')],
  ['a path outside', to('../../etc/passwd')],
  ['a path outside below refs', to('refs/../../x')],
  ['objects', to('refs/heads/../../objects/info/alternates')],
  ['another branch', to('refs/heads/other', () => other)],
  ['a new branch', to('refs/heads/new')],
  ['a branch below its own', to('refs/heads/work/below')],
  ['its own name in capitals', to('refs/heads/WORK')],
  ['a longer name', to('refs/heads/work2')],
  ['a tag', to('refs/tags/v2')],
  ['an existing tag', to('refs/tags/v1', () => main)],
  ['a tag of its own name', to('refs/tags/work')],
  ['a note', to('refs/notes/commits')],
  ['a replacement', to(`refs/replace/${'a'.repeat(40)}`)],
  ['a stash', to('refs/stash')],
  ['a remote branch', to('refs/remotes/origin/main')],
  ['a kept commit', to('refs/svc/cr/1/head', () => other)],
  [
    'a kept commit deleted',
    to(
      'refs/svc/cr/1/head',
      () => other,
      () => zero,
    ),
  ],
  ['a kept commit in capitals', to('refs/SVC/cr/1/head', () => other)],
  ['saved work', to('refs/svc/wip/someone')],
  ['refs/svc itself', to('refs/svc')],
  ['a pull request of a host', to('refs/pull/1/head')],
  ['a change of a host', to('refs/changes/01/1/1')],
  ['a magic branch', to('refs/for/main')],
  [
    'its own branch, deleted',
    to(
      'refs/heads/work',
      () => work,
      () => zero,
    ),
  ],
  [
    'its own branch, forced to an older commit',
    to(
      'refs/heads/work',
      () => work,
      () => main,
    ),
  ],
  [
    'its own branch, forced aside',
    to(
      'refs/heads/work',
      () => work,
      () => other,
    ),
  ],
  [
    'its own branch, forced by claiming it is new',
    to(
      'refs/heads/work',
      () => zero,
      () => other,
    ),
  ],
  [
    'its own branch, forced by a lie about where it is',
    to(
      'refs/heads/work',
      () => main,
      () => other,
    ),
  ],
  ['its own branch, from an object that does not exist', to('refs/heads/work', () => oidOfNothing)],
  [
    'its own branch, to an object that does not exist',
    to(
      'refs/heads/work',
      () => work,
      () => oidOfNothing,
    ),
  ],
  [
    'its own branch, neither created nor changed',
    to(
      'refs/heads/work',
      () => zero,
      () => zero,
    ),
  ],
  ['own and default', () => [`${own()}${caps}`, `${main} ${ahead} refs/heads/main`]],
  ['default and own', () => [`${main} ${ahead} refs/heads/main${caps}`, own()]],
  ['own twice', () => [`${own()}${caps}`, own()]],
  ['own deleted and created', () => [`${work} ${zero} refs/heads/work${caps}`, `${zero} ${ahead} refs/heads/work`]],
  ['own created and deleted', () => [`${zero} ${ahead} refs/heads/work${caps}`, `${ahead} ${zero} refs/heads/work`]],
  [
    'a branch deleted and created',
    () => [`${other} ${zero} refs/heads/other${caps}`, `${zero} ${ahead} refs/heads/other`],
  ],
  ['own and a tag', () => [`${own()}${caps}`, `${zero} ${ahead} refs/tags/x`]],
  ['own atomically with default', () => [`${own()}\0 report-status atomic`, `${main} ${ahead} refs/heads/main`]],
  [
    'a name after a zero byte in the second command',
    () => [`${own()}${caps}`, `${main} ${ahead} refs/heads/main\0refs/heads/work`],
  ],
  ['a zero byte in the capabilities', () => [`${own()}\0 report-status\0${main} ${ahead} refs/heads/main`]],
  ['a line end in the middle of one packet', () => [`${own()}\n${main} ${ahead} refs/heads/main${caps}`]],
  ['capabilities that were not offered', () => [`${own()}\0 report-status push-options`]],
  ['a certificate', () => [`push-cert\0${caps}\n`, `${own()}`]],
  ['default after a shallow line', () => [`shallow ${main}\n`, `${main} ${ahead} refs/heads/main${caps}`]],
  ['a shallow line after a command', () => [`${own()}${caps}`, `shallow ${main}\n`]],
  ['a shallow line with a command', () => [`shallow ${main}\n${own()}${caps}`]],
  ['a shallow line with capabilities', () => [`shallow ${main}${caps}`, own()]],
  ['a shallow line without a full id', () => [`shallow ${main.slice(0, 12)}`, `${own()}${caps}`]],
  ['a line of the other direction', () => [`unshallow ${main}`, `${own()}${caps}`]],
  ['ids in capitals', () => [`${work.toUpperCase()} ${ahead.toUpperCase()} refs/heads/work${caps}`]],
  ['short ids', () => [`${work.slice(0, 12)} ${ahead.slice(0, 12)} refs/heads/work${caps}`]],
  ['ids of another format', () => [`${'0'.repeat(64)} ${'a'.repeat(64)} refs/heads/work${caps}`]],
  ['no id', () => [`refs/heads/work${caps}`]],
  ['one id', () => [`${ahead} refs/heads/work${caps}`]],
  ['three ids', () => [`${work} ${ahead} ${ahead} refs/heads/work${caps}`]],
  ['two spaces', () => [`${work}  ${ahead} refs/heads/work${caps}`]],
  ['an empty packet', () => ['', `${own()}${caps}`]],
  [
    'a name that is no UTF-8',
    () => [Buffer.concat([Buffer.from(`${work} ${ahead} refs/heads/`), Buffer.from([0xff, 0xfe])])],
  ],
  ['a symbolic ref', () => [`${work} ref:refs/heads/main refs/heads/work${caps}`]],
  ['a name like an option', to('--upload-pack=x')],
  ['a name like a refspec', to('+refs/heads/main', () => main)],
  ['a name like a pattern', to('refs/heads/*')],
  ['a name with a colon', to('refs/heads/work:refs/heads/main')],
  [
    'six hundred branches',
    () => Array.from({ length: 600 }, (_, index) => `${zero} ${ahead} refs/heads/b${index}${index ? '' : caps}`),
  ],
  ['a name of a thousand letters', to(`refs/heads/${'x'.repeat(1000)}`)],
]

/** Bytes that do not follow the framing at all. */
const malformed: [string, () => string][] = [
  ['no packet', () => 'hello world'],
  ['a length of 1 inside the list', () => `0001${pkt(`${own()}${caps}`)}0000`],
  ['a length of 2', () => `0002${pkt(`${own()}${caps}`)}0000`],
  ['the impossible length 3', () => `0003${pkt(`${own()}${caps}`)}0000`],
  ['a length that is no hex', () => `00zz${own()}`],
  ['a negative length', () => `-001${own()}`],
  ['a length with a space', () => ` 0ff${own()}`],
  ['a length past the limit', () => `fff5${own()}`],
  ['a length past the end', () => `0fff${own()}`],
  ['a list that does not end', () => `${pkt(`${own()}${caps}`)}`],
  ['a list cut inside a length', () => `${pkt(`${own()}${caps}`)}00`],
  ['a flush, then the list again', () => `${pkt(`${own()}${caps}`)}0000${pkt(`${main} ${ahead} refs/heads/main`)}0000`],
  ['an empty list, then a real one', () => `0000${pkt(`${main} ${ahead} refs/heads/main${caps}`)}0000`],
]

describe('refusing a push that may otherwise push everything', () => {
  const branches = (count: number) =>
    Array.from({ length: count }, (_, index) => `${zero} ${ahead} refs/heads/b${index}${index === 0 ? caps : ''}`)
  const service: [string, () => string[], string][] = hiddenRefs.flatMap((hidden) => [
    [`${hidden}/x`, to(`${hidden}/x`), `The ref ${hidden}/x belongs to the service`],
    [`${hidden} in capitals`, to(`${hidden.toUpperCase().replace('REFS', 'refs')}/x`), 'belongs to the service'],
  ])

  test.each<[string, () => string[], string]>([
    ...service,
    ['refs/svc itself', to('refs/svc'), 'not a full and valid ref name'],
    ['a name that leaves its folder', to('refs/heads/../svc/x'), 'not a full and valid ref name'],
    ['HEAD', to('HEAD', () => main), 'not a full and valid ref name'],
    ['long ids', () => [`${'0'.repeat(64)} ${'a'.repeat(64)} refs/heads/new${caps}`], 'another object format'],
    ['a long old id', () => [`${'0'.repeat(64)} ${ahead} refs/heads/new${caps}`], 'another object format'],
    ['a long new id', () => [`${zero} ${'a'.repeat(64)} refs/heads/new${caps}`], 'another object format'],
    [
      'nothing to nothing',
      to(
        'refs/heads/new',
        () => zero,
        () => zero,
      ),
      'neither creates nor changes refs/heads/new',
    ],
    ['one ref twice', () => [`${zero} ${ahead} refs/heads/new${caps}`, `${zero} ${ahead} refs/heads/new`], 'twice'],
    ['one too many', () => branches(updatesMax + 1), `at most ${updatesMax} refs`],
  ])('refuses a push of %s with the reason', async (_name, list, reason) => {
    const before = await refs()
    const { text } = await push(list(), { gate: () => null, serve: { allowDelete: true, allowAnyRef: true } })
    expect(text).toContain(reason)
    expect(await refs()).toBe(before)
  })

  test.each<[string, () => string[], string]>([
    [
      'a branch deleted',
      to(
        'refs/heads/other',
        () => other,
        () => zero,
      ),
      'deletes refs/heads/other, which is not allowed',
    ],
    ['a note', to('refs/notes/commits'), 'Only branches and tags can be pushed, not refs/notes/commits'],
    ['a name that only begins like branches', to('refs/headsup/x'), 'Only branches and tags'],
    ['a name that only ends like a tag', to('refs/x/refs/tags'), 'Only branches and tags'],
  ])('refuses a push of %s unless it is allowed', async (_name, list, reason) => {
    const before = await refs()
    const { text } = await push(list(), { gate: () => null })
    expect(text).toContain(reason)
    expect(await refs()).toBe(before)
  })

  test.each<[string, () => (string | Uint8Array)[], string]>([
    ['a command of more than 4096 bytes', to(`refs/heads/${'x'.repeat(4100)}`), 'too long'],
    [
      'a name that is no UTF-8',
      () => [Buffer.concat([Buffer.from(`${zero} ${ahead} refs/heads/`), Buffer.from([0xff])])],
      'not UTF-8',
    ],
    ['capabilities twice', () => [`${own()}${caps}`, `${zero} ${ahead} refs/heads/n${caps}`], 'Only the first command'],
    ['a zero byte in capabilities', () => [`${own()}${caps}\0x`], 'contain a NUL character'],
    ['what was not offered', () => [`${own()}\0 report-status push-options`], '"push-options", which was not offered'],
    ['a certificate', () => [`push-cert\0${caps}`], 'with a certificate'],
    ['a shallow clone of too many ends', () => Array<string>(100_001).fill(`shallow ${main}`), 'too many commits'],
    ['far too many commands', () => branches(updatesMax + 10), `at most ${updatesMax} refs`],
    ['a line end in a name', () => [`${zero} ${ahead} refs/heads/a\nb${caps}`], '`<old id> <new id> <ref>`'],
    ['a third word', () => [`${own()} x${caps}`], '`<old id> <new id> <ref>`'],
    ['a word before', () => [`x ${own()}${caps}`], '`<old id> <new id> <ref>`'],
    ['short ids', () => [`${main.slice(0, 12)} ${ahead} refs/heads/n${caps}`], '`<old id> <new id> <ref>`'],
    ['a short new id', () => [`${main} ${ahead.slice(0, 12)} refs/heads/n${caps}`], '`<old id> <new id> <ref>`'],
  ])('%s is not understood', async (_name, list, reason) => {
    const before = await refs()
    const { status, text } = await push(list(), { gate: () => null })
    expect([status, text]).toEqual([400, expect.stringContaining(reason) as unknown as string])
    expect(await refs()).toBe(before)
  })

  test.each([
    ['a list that does not end', () => pkt(`${own()}${caps}`), 'does not end'],
    ['a packet of another kind', () => `0001${pkt(`${own()}${caps}`)}0000`, 'unexpected packet'],
  ])('refuses %s', async (_name, bytes, reason) => {
    const { status, text } = await push([Buffer.from(bytes()).toString('latin1')], { raw: true, pack: Buffer.alloc(0) })
    expect([status, text]).toEqual([400, expect.stringContaining(reason) as unknown as string])
  })

  test.each(['side-band', 'side-band-64k', 'report-status-v2 delete-refs quiet atomic ofs-delta no-thin session-id=x'])(
    'accepts offered capabilities: %s',
    async (words) => {
      const list = [`${zero} ${ahead} refs/heads/asked\0 report-status ${words} object-format=sha1`]
      const { status, text } = await push(list, { gate: () => null })
      expect([status, text.includes('ok refs/heads/asked')]).toEqual([200, true])
      await git(repo.dir, ['update-ref', '-d', 'refs/heads/asked'])
    },
  )

  test('accepts an empty list, by which git asks whether it may push', async () => {
    for (const list of ['0000', '']) {
      const { status, text } = await push([list], { raw: true, pack: Buffer.alloc(0) })
      expect([status, text]).toEqual([200, ''])
    }
  })
})

describe('hostile command lists', () => {
  test('there are at least sixty hostile command lists', () => {
    expect(hostile.length + malformed.length).toBeGreaterThanOrEqual(60)
  })

  test.each(hostile)('refuses the hostile push: %s', async (_name, list) => {
    const before = await refs()
    const { status, text } = await push(list())
    expect(await refs()).toBe(before)
    if (status === 200) expect(text).toContain('ng ')
    else expect(status).toBe(400)
    if (status === 200) expect(text).not.toContain('ok refs/')
  })

  test.each(malformed)('refuses the malformed push: %s', async (_name, bytes) => {
    const before = await refs()
    const { status, text } = await push([bytes()], { raw: true, pack: Buffer.alloc(0) })
    expect(await refs()).toBe(before)
    if (status === 200) expect(text).not.toContain('ok refs/')
    else expect(status).toBe(400)
  })

  test('refuses a valid list with a pack that is invalid, cut short or incomplete', async () => {
    const before = await refs()
    const flipped = Buffer.from(pack)
    flipped[20] = (flipped[20] ?? 0) ^ 0xff
    for (const bad of [
      Buffer.alloc(0),
      Buffer.from('PACK'),
      pack.subarray(0, pack.length - 5),
      flipped,
      Buffer.concat([pack, pack]),
    ]) {
      const { text } = await push([`${work} ${ahead} refs/heads/work${caps}`], { pack: bad })
      // The objects of the pack happen to be here already; with them the connection holds, without a pack nothing does.
      if (!text.includes('ok refs/heads/work')) expect(await refs()).toBe(before)
      else await git(repo.dir, ['update-ref', 'refs/heads/work', work])
    }
  })

  test('refuses random input', async () => {
    const before = await refs()
    for (let round = 0; round < 200; round++) {
      const valid = Buffer.from(pkt(`${main} ${ahead} refs/heads/main${caps}`)).toString('latin1')
      const bytes = Array.from(valid)
      for (let i = 0; i <= round % 5; i++)
        bytes[Math.floor(Math.random() * bytes.length)] = String.fromCharCode(Math.floor(Math.random() * 256))
      await push([`${bytes.join('')}0000`], { raw: true })
    }
    expect(await refs()).toBe(before)
  }, 120_000)

  test('reads a refused push to its end while it is within the quota, or git would show a broken connection', async () => {
    const mebibyte = 1024 ** 2
    const zeros = new Uint8Array(mebibyte)
    const quota = {
      pushBytes: 400 * mebibyte,
      storeBytes: 2 ** 40,
      otherBytes: 0,
      hasRoom: () => true,
      refusal: () => '',
    }
    const list = Buffer.concat([Buffer.from(pkt(`${main} ${ahead} refs/heads/main${caps}`)), Buffer.from('0000')])
    const chunks = [list, ...Array.from({ length: 300 }, () => zeros)]
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        const next = chunks.shift()
        if (next === undefined) controller.close()
        else controller.enqueue(next)
      },
    })
    const { text } = await push([], { body, serve: { quota } })
    expect(text).toContain('ng refs/heads/main')
    expect(chunks.length).toBe(0)
  })

  test('the repository still accepts an allowed push afterwards', async () => {
    const { status, text } = await push([`${own()}${caps}`])
    expect(status).toBe(200)
    expect(text).toContain('ok refs/heads/work')
    expect(await repo.tip('work')).toBe(ahead)
    expect(await repo.tip('main')).toBe(main)
  })
})
