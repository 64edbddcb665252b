/** A git host by ssh that lets the project's key in and then does as it likes, behind a real sshd on loopback. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, writeFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { hasObjects, openMirror, syncMirror } from '../mirror/mirror.ts'
import { probeRemote } from '../mirror/probe.ts'
import type { Remote, SshAccess } from '../repository.ts'
import { learnHostKey } from '../remote/ssh-trust.ts'
import { findSshd, makeSshKey, serveSsh, type Sshd } from './testing-sshd.ts'
import { makeRepo, tempDir, type TestRepository } from '../testing.ts'
import { readTips } from '../refs/tips.ts'

setDefaultTimeout(120_000)

const hasSshd = findSshd() !== null
let temp: Awaited<ReturnType<typeof tempDir>>
let origin: TestRepository
let sshd: Sshd
let knownHosts: string
/** A request that arrives here was caused by the hostile host. */
let canary: { url: string; asked: string[]; stop(): void }

beforeAll(async () => {
  if (!hasSshd) return
  temp = await tempDir()
  origin = await makeRepo({ main: { a: '1\n' }, work: { b: '2\n' } })
  sshd = await serveSsh(join(temp.path, 'sshd'))
  const first = makeSshKey(temp.path)
  const met = await learnHostKey(remoteOf(first.privateKey, null))
  if (met.kind !== 'learnt') throw new Error(met.reason)
  knownHosts = met.knownHosts
  const asked: string[] = []
  const http = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: (request) => (asked.push(request.url), new Response('')),
  })
  canary = { url: `http://127.0.0.1:${http.port}`, asked, stop: () => void http.stop(true) }
})
afterAll(async () => {
  canary?.stop()
  await sshd?.close()
  await origin?.remove()
  await temp?.remove()
})

const remoteOf = (key: string, known: string | null): Remote & { ssh: SshAccess } => ({
  url: `${sshd.origin}${origin.dir}`,
  credential: null,
  allowProtocols: ['ssh'],
  ssh: { key, knownHosts: known },
})

let programs = 0
/** A remote behind which this program answers, whatever git asks for. */
function hostThat(program: string): Remote & { ssh: SshAccess } {
  const path = join(temp.path, `program-${++programs}.sh`)
  writeFileSync(path, program)
  const key = makeSshKey(temp.path)
  sshd.authorize(key.publicKey, { program: `sh ${path}` })
  return remoteOf(key.privateKey, knownHosts)
}

/** A line of git's protocol, as printf writes it. */
const line = (text: string) => `${(text.length + 5).toString(16).padStart(4, '0')}${text}\\n`
const honest = 'eval "$SSH_ORIGINAL_COMMAND"'
/** Version 2, with these refs, whatever is asked. */
const speaks = (capabilities: string[], refs: string[]) =>
  `printf '${['version 2', ...capabilities].map(line).join('')}0000${refs.map(line).join('')}0000'; cat > /dev/null`

describe.skipIf(!hasSshd)('messages of a hostile ssh host', () => {
  test("removes cursor movements and text direction marks from the host's messages", async () => {
    const words = `fatal: \\033]0;owned\\007\\033[2J\\033[1;1H \\342\\200\\256gnp.exe \\302\\233 \\000 \\377 \\rOK`
    const remote = hostThat(`printf '${words}\\n' >&2; exit 1`)
    for (const reason of [
      (await probeRemote(remote)).reason,
      JSON.stringify(await readTips(await openMirror(join(temp.path, 'words.git'), remote), 'all')),
    ]) {
      expect(reason).toContain('gnp.exe')
      expect(reason).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}]|\\u00|\\[rnt]/u)
    }
  })

  test.each([
    [
      'errors without end',
      `i=0; while [ $i -lt 20000 ]; do echo "fatal: ${'x'.repeat(100)}" >&2; i=$((i+1)); done; exit 1`,
    ],
    ['one error without end', `head -c 3000000 /dev/zero | tr '\\0' x >&2; exit 1`],
    ['lines of no protocol', `head -c 3000000 /dev/zero`],
    ['a length that is none', `printf 'zzzz'; cat > /dev/null`],
    ['a line longer than any', `printf 'ffff'; head -c 70000 /dev/zero | tr '\\0' x`],
    ['a length shorter than itself', `printf '0001000200030003'; cat > /dev/null`],
    ['an error of the protocol with escapes', `printf '${line('ERR a[2Jb')}'; cat > /dev/null`],
    ['nothing', 'exit 0'],
    ['a version from the future', `printf '${line('version 9')}0000'; cat > /dev/null`],
  ])('turns hostile output into an error message: %s', async (_, program) => {
    const found = await probeRemote(hostThat(program), { timeoutMs: 20_000 })
    expect(found.kind).toBe('unreachable')
    expect(found.reason!.length).toBeLessThanOrEqual(1_000)
    expect(found.reason).not.toMatch(/\p{Cc}/u)
  })

  test('waits for the host no longer than the caller does', async () => {
    for (const program of [
      'cat > /dev/null',
      'while echo x >&2; do :; done',
      `printf '${line('version 2')}'; cat > /dev/null`,
    ])
      expect((await probeRemote(hostThat(program), { timeoutMs: 2_000 })).kind).toBe('unreachable')
  })
})

describe.skipIf(!hasSshd)('data of a hostile ssh host', () => {
  test("ignores refs with names that are options, paths or the service's own", async () => {
    const sha = await origin.tip('main')
    const names = [
      '--upload-pack=touch owned',
      '../../config',
      'refs/heads/../../hooks/post-update',
      'refs/svc/work',
      'refs/heads/a[2J',
    ]
    const remote = hostThat(
      speaks(
        ['ls-refs', 'fetch', 'object-format=sha1'],
        [
          `${sha} HEAD symref-target:refs/heads/../../x`,
          ...names.map((name) => `${sha} ${name}`),
          `${sha} refs/heads/main`,
        ],
      ),
    )
    const dir = join(temp.path, 'names.git')
    const mirror = await openMirror(dir, remote)
    await readTips(mirror, 'all')
    expect(
      (await syncMirror(mirror, { timeoutMs: 5_000 }).catch((error: Error) => ({ kind: error.name }))).kind,
    ).not.toBe('present')
    const files = (await readdir(dir, { recursive: true })).join('\n')
    expect(files).not.toMatch(/owned|post-update$|refs\/svc/)
    expect(await readFile(join(dir, 'config'), 'utf8')).not.toContain(sha)
    expect(existsSync(join(temp.path, 'owned'))).toBe(false)
  })

  test('does not accept commits that the host lists but does not have', async () => {
    const missing = 'd'.repeat(40)
    const remote = hostThat(speaks(['ls-refs', 'fetch', 'object-format=sha1'], [`${missing} refs/heads/main`]))
    const mirror = await openMirror(join(temp.path, 'missing.git'), remote)
    const outcome = await syncMirror(mirror, { timeoutMs: 5_000 }).catch((error: Error) => ({ kind: error.name }))
    expect(outcome.kind).not.toBe('present')
    expect(await hasObjects(mirror, [missing])).toBe(false)
  })

  test('does not fetch from a URL that the host suggests', async () => {
    const sha = await origin.tip('main')
    const remote = hostThat(
      speaks(
        [
          'ls-refs',
          'fetch=packfile-uris shallow',
          'bundle-uri',
          'object-info',
          'object-format=sha1',
          `promisor-remote=name=evil,url=${canary.url}`,
        ],
        ['bundle.version=1', 'bundle.mode=all', `bundle.one.uri=${canary.url}/one.bundle`, `${sha} refs/heads/main`],
      ),
    )
    const mirror = await openMirror(join(temp.path, 'bundle.git'), remote)
    await syncMirror(mirror, { timeoutMs: 5_000 }).catch(() => null)
    expect(canary.asked).toEqual([])
  })

  test('offers the host no agent, display or port to forward', async () => {
    const seen = join(temp.path, 'seen')
    const remote = hostThat(`env > ${seen}; ${honest}`)
    expect((await probeRemote(remote)).kind).toBe('writable')
    expect(await readFile(seen, 'utf8')).not.toMatch(/^(SSH_AUTH_SOCK|DISPLAY|SSH_TTY|SVC_\w+|DATABASE_URL)=/m)
  })
})

test.skipIf(!hasSshd)('a host that disconnects after any number of bytes leaves no partial repository', async () => {
  const sha = await origin.tip('main')
  // Lengths of the greeting, of the refs and of the pack, and between them.
  for (const bytes of [0, 3, 90, 200, 330, 520]) {
    const remote = hostThat(`${honest} | head -c ${bytes}`)
    const mirror = await openMirror(join(temp.path, `cut-${bytes}.git`), remote)
    const outcome = await syncMirror(mirror, { timeoutMs: 5_000 }).catch((error: Error) => ({ kind: error.name }))
    expect([bytes, outcome.kind === 'present', await hasObjects(mirror, [sha])]).toEqual([bytes, false, false])
  }
  const whole = await openMirror(join(temp.path, 'whole.git'), hostThat(honest))
  expect(await syncMirror(whole)).toEqual({ kind: 'present' })
})
