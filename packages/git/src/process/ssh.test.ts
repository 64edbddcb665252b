import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createBranch } from '../hosts/branch.ts'
import { childEnvironment } from './environment.ts'
import { openMirror, syncMirror } from '../mirror/mirror.ts'
import { probeRemote } from '../mirror/probe.ts'
import type { Remote, SshAccess } from '../repository.ts'
import { readPrivateKey, looksLikePrivateKey } from '../remote/ssh-key.ts'
import { learnHostKey } from '../remote/ssh-trust.ts'
import { openSshFiles } from './ssh.ts'
import { findSshd, makeSshKey, type Sshd, serveSsh } from '../hosts/testing-sshd.ts'
import { makeRepo, tempDir, type TestRepository } from '../testing.ts'
import { readTips } from '../refs/tips.ts'

setDefaultTimeout(120_000)

const hasSshd = findSshd() !== null
if (!hasSshd) console.error('There is no sshd on this machine, so ssh is not tried against a real one.')

let temp: Awaited<ReturnType<typeof tempDir>>
let key: { privateKey: string; publicKey: string }
beforeAll(async () => {
  temp = await tempDir()
  key = makeSshKey(join(temp.path, 'keys'))
})
afterAll(() => temp.remove())

describe('private keys', () => {
  test.each(['ed25519', 'rsa', 'ecdsa'] as const)('accepts a key of type %s as ssh-keygen writes it', (type) => {
    const { privateKey } = makeSshKey(temp.path, { type })
    expect(looksLikePrivateKey(privateKey)).toBeTrue()
    expect(readPrivateKey(privateKey)).toEqual({ kind: 'key', key: privateKey })
    expect(readPrivateKey(`\n ${privateKey.trim().replaceAll('\n', '\r\n')}  `)).toEqual({
      kind: 'key',
      key: privateKey,
    })
  })

  test('accepts a key in the older format', () => {
    const { privateKey } = makeSshKey(temp.path, { type: 'rsa', pem: true })
    expect(privateKey).toStartWith('-----BEGIN RSA PRIVATE KEY-----')
    expect(readPrivateKey(privateKey)).toEqual({ kind: 'key', key: privateKey })
  })

  test('refuses a key with a passphrase', () => {
    for (const form of [{}, { type: 'rsa' as const, pem: true }]) {
      const { privateKey } = makeSshKey(temp.path, { ...form, passphrase: 'secret phrase' })
      expect(readPrivateKey(privateKey)).toEqual({ kind: 'refused', reason: expect.stringContaining('passphrase') })
    }
    const pkcs8 = '-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----'
    expect(readPrivateKey(pkcs8)).toEqual({ kind: 'refused', reason: expect.stringContaining('passphrase') })
  })

  test('refuses text that is no private key', () => {
    const half = key.privateKey.slice(0, 120)
    const swapped = key.privateKey.replace('b3BlbnNzaC1rZXk', 'AAAAAAAAAAAAAAA')
    const mixed = '-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----'
    const bent = key.privateKey.replace('\n', '\n$(touch x)\n')
    for (const text of ['', 'ghp_token', key.publicKey, half, swapped, mixed, bent])
      expect(readPrivateKey(text).kind).toBe('refused')
  })
})

describe('the arguments of ssh', () => {
  const remote = (more: Partial<Remote> = {}): Remote => ({
    url: 'ssh://git@git.test:2222/a/b.git',
    credential: null,
    allowProtocols: ['ssh'],
    ...more,
  })
  const commandFor = (one: Remote) => {
    const files = one.ssh ? openSshFiles(one.ssh) : null
    const { GIT_SSH_COMMAND: command = '', ...env } = childEnvironment({ remote: one }, files)
    files?.close()
    return { command, env }
  }

  test("starts ssh with the project's key, the pinned address and no configuration", () => {
    const ssh = { key: key.privateKey, knownHosts: 'git-host ssh-ed25519 AAAA\n' }
    const { command, env } = commandFor(remote({ ssh, pin: ['192.0.2.7', '192.0.2.8'] }))
    for (const word of [
      ...['-F /dev/null', '-oProxyCommand=none', '-oIdentitiesOnly=yes', '-oIdentityAgent=none', '-oBatchMode=yes'],
      ...['-oStrictHostKeyChecking=yes', '-oGlobalKnownHostsFile=/dev/null', '-oHostName=192.0.2.7'],
      ...['-oHostKeyAlias=git-host', '-oPermitLocalCommand=no', '-oClearAllForwardings=yes'],
    ])
      expect(`${command} `).toContain(` ${word} `)
    // git hands it to a shell.
    expect(command).toMatch(/^[A-Za-z0-9 =./_,:-]+$/)
    expect(JSON.stringify({ command, env })).not.toContain(key.privateKey.split('\n')[1])
    expect(env).not.toHaveProperty('SSH_AUTH_SOCK')
    expect(env.GIT_ALLOW_PROTOCOL).toBe('ssh')
  })

  test('records a host key only when none is known', () => {
    const { command } = commandFor(remote({ ssh: { key: key.privateKey, knownHosts: null } }))
    expect(command).toContain('-oStrictHostKeyChecking=accept-new')
  })

  test('refuses names and pins that a shell could misread', () => {
    for (const pin of ['$(id)', '1;id', "1'", '-oProxyCommand=id'])
      expect(commandFor(remote({ pin: [pin], ssh: { key: 'k', knownHosts: '' } })).command).not.toContain('HostName')
  })

  test('deletes the key file before it is used', () => {
    // A temporary folder of its own: in the usual one other tests come and go.
    const usual = process.env.TMPDIR
    const folder = mkdtempSync(join(tmpdir(), 'svc-own-'))
    process.env.TMPDIR = folder
    expect(tmpdir()).toBe(folder)
    const files = openSshFiles({ key: key.privateKey, knownHosts: 'x' })
    if (usual === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = usual
    expect(readdirSync(folder)).toEqual([])
    rmSync(folder, { recursive: true })
    expect([readFileSync(files.keyPath, 'utf8'), readFileSync(files.knownHostsPath, 'utf8')]).toEqual([
      key.privateKey,
      'x',
    ])
    files.close()
    files.close()
    expect(() => readFileSync(files.keyPath)).toThrow()
  })
})

describe.skipIf(!hasSshd)('with a real sshd', () => {
  let origin: TestRepository
  let sshd: Sshd
  let reader: typeof key
  let stranger: typeof key
  beforeAll(async () => {
    origin = await makeRepo({ main: { a: '1\n' }, work: { b: '2\n' } })
    sshd = await serveSsh(join(temp.path, 'sshd'))
    reader = makeSshKey(temp.path)
    stranger = makeSshKey(temp.path)
    sshd.authorize(key.publicKey)
    sshd.authorize(reader.publicKey, 'read')
  })
  afterAll(async () => {
    await sshd.close()
    await origin.remove()
  })

  const remoteWith = (privateKey: string, knownHosts: string | null = null): Remote & { ssh: SshAccess } => ({
    url: `${sshd.origin}${origin.dir}`,
    credential: null,
    allowProtocols: ['ssh'],
    ssh: { key: privateKey, knownHosts },
  })
  async function trusted(privateKey: string): Promise<Remote & { ssh: SshAccess }> {
    const met = await learnHostKey(remoteWith(privateKey))
    if (met.kind !== 'learnt') throw new Error(met.reason)
    return remoteWith(privateKey, met.knownHosts)
  }

  test('pins the host key at the first contact, with or without access', async () => {
    const met = await learnHostKey(remoteWith(key.privateKey))
    expect(met).toEqual({ kind: 'learnt', knownHosts: expect.stringMatching(/^git-host ssh-ed25519 \S+\n$/) })
    expect(await learnHostKey(remoteWith(stranger.privateKey))).toEqual(met)
  })

  test("reads, mirrors and writes a repository with the project's key", async () => {
    const remote = await trusted(key.privateKey)
    expect(await probeRemote(remote)).toEqual({ kind: 'writable', reason: null, defaultBranch: 'main', empty: false })
    const mirror = await openMirror(join(temp.path, 'mirror.git'), remote)
    expect(await syncMirror(mirror)).toEqual({ kind: 'present' })
    const sha = await origin.tip('main')
    expect(await createBranch(mirror, { branch: 'session-1', sha })).toEqual({ kind: 'created' })
    expect(await createBranch(mirror, { branch: 'session-1', sha: await origin.tip('work') })).toEqual({
      kind: 'exists',
    })
    expect(await origin.tip('session-1')).toBe(sha)
    expect(await readTips(mirror, ['work'])).toMatchObject({ tips: new Map([['work', await origin.tip('work')]]) })
  })

  test('connects to the pinned address without a name lookup', async () => {
    const remote = await trusted(key.privateKey)
    const url = remote.url.replace('127.0.0.1', 'git.test')
    expect((await probeRemote({ ...remote, url, pin: ['127.0.0.1'] })).kind).toBe('writable')
  })

  test("reports a read-only key and an unknown key with the host's message", async () => {
    expect(await probeRemote(await trusted(reader.privateKey))).toMatchObject({
      kind: 'readable',
      reason: expect.stringContaining('marked as read only'),
    })
    expect(await probeRemote(await trusted(stranger.privateKey))).toMatchObject({
      kind: 'unauthorized',
      reason: 'The git host does not accept the ssh key.',
    })
  })

  test('does not talk to a host with another host key', async () => {
    const before = await trusted(key.privateKey)
    await sshd.changeHostKey()
    const reason = expect.stringContaining('ssh host key of the git host changed')
    expect(await probeRemote(before)).toMatchObject({ kind: 'unreachable', reason })
    const mirror = await openMirror(join(temp.path, 'changed.git'), before)
    expect(await readTips(mirror, 'all')).toEqual({ kind: 'unreachable', reason: reason as unknown as string })
    expect((await probeRemote(await trusted(key.privateKey))).kind).toBe('writable')
  })

  test('reports a host that is down', async () => {
    const remote = { ...remoteWith(key.privateKey), url: 'ssh://git@127.0.0.1:1/x' }
    expect(await learnHostKey(remote)).toEqual({ kind: 'unreachable', reason: 'The git host refuses connections.' })
  })
})
