import { afterAll, describe, expect, test } from 'bun:test'
import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeKeyring } from './keyring.ts'
import { createMasterKey, MasterKeyError, readMasterKey } from './master-key.ts'

const keyring = makeKeyring(randomBytes(32))
const projectId = randomUUID()
const dataKey = keyring.newDataKey(projectId)
const aad = ['secret', 'A', 1] as const
const sealed = keyring.seal({ projectId, dataKey, aad, value: 'grüße 🔑' })

describe('sealed values', () => {
  test('opens a value where it was sealed', () => {
    expect(keyring.open({ projectId, dataKey, aad, sealed })).toBe('grüße 🔑')
    const empty = keyring.seal({ projectId, dataKey, aad, value: '' })
    expect(keyring.open({ projectId, dataKey, aad, sealed: empty })).toBe('')
  })

  test('seals a value differently every time and without a trace of it', () => {
    const value = 'canary-'.repeat(20)
    const many = Array.from({ length: 200 }, () => keyring.seal({ projectId, dataKey, aad, value }).toString('hex'))
    expect(new Set(many).size).toBe(200)
    expect(new Set(many.map((hex) => hex.slice(0, 24))).size).toBe(200)
    for (const hex of many) expect(hex).not.toContain(Buffer.from('canary').toString('hex'))
  })

  test.each([
    ['another name', ['secret', 'B', 1]],
    ['another version', ['secret', 'A', 2]],
    ['the version as text', ['secret', 'A', '1']],
    ['another kind', ['git_token']],
    ['names run together', ['secret', 'A,1']],
    ['no place', []],
  ])('does not open a value at %s', (_, place) => {
    expect(() => keyring.open({ projectId, dataKey, aad: place, sealed })).toThrow()
  })

  test("does not open a value in another project, with its own key or the first one's", () => {
    const other = randomUUID()
    expect(() => keyring.open({ projectId: other, dataKey: keyring.newDataKey(other), aad, sealed })).toThrow()
    expect(() => keyring.open({ projectId: other, dataKey, aad, sealed })).toThrow()
    expect(() => keyring.open({ projectId, dataKey: keyring.newDataKey(projectId), aad, sealed })).toThrow()
  })

  test('does not open a value under another root key', () => {
    const another = makeKeyring(randomBytes(32))
    expect(() => another.open({ projectId, dataKey, aad, sealed })).toThrow()
    expect(another.rootKeyId).not.toBe(keyring.rootKeyId)
  })

  test('does not open a value with any bit changed or any part missing', () => {
    for (let bit = 0; bit < sealed.length * 8; bit++) {
      const changed = Buffer.from(sealed)
      changed[bit >> 3]! ^= 1 << (bit & 7)
      expect(() => keyring.open({ projectId, dataKey, aad, sealed: changed })).toThrow()
    }
    for (let length = 0; length < sealed.length; length++)
      expect(() => keyring.open({ projectId, dataKey, aad, sealed: sealed.subarray(0, length) })).toThrow()
    expect(() => keyring.open({ projectId, dataKey, aad, sealed: Buffer.concat([sealed, sealed]) })).toThrow()
  })
})

test('derives the same key for the same label, unrelated to other labels', () => {
  const key = randomBytes(32)
  const labels = ['a', 'b', 'service key of sandbox 1', 'service key of sandbox 11']
  const derived = labels.map((label) => makeKeyring(key).derive(label).toString('hex'))
  expect(derived).toEqual(labels.map((label) => makeKeyring(key).derive(label).toString('hex')))
  expect(new Set(derived).size).toBe(labels.length)
  expect(derived).not.toContain(key.toString('hex'))
})

describe('the master key file', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'svc-key-'))
  afterAll(() => rm(dir, { recursive: true, force: true }))

  test('creates the file once, for its owner only, and reads it back', async () => {
    const file = join(dir, 'deep/er/master.key')
    expect(await readMasterKey(file)).toBeNull()
    const key = await createMasterKey(file)
    expect(await readMasterKey(file)).toEqual(key)
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect((await stat(join(dir, 'deep/er'))).mode & 0o777).toBe(0o700)
  })

  test('never overwrites the file', async () => {
    const file = join(dir, 'master.key')
    await createMasterKey(file)
    const before = await readFile(file, 'utf8')
    await expect(createMasterKey(file)).rejects.toThrow('EEXIST')
    expect(await readFile(file, 'utf8')).toBe(before)
  })

  test.each(['', 'short', randomBytes(31).toString('base64'), randomBytes(33).toString('base64'), 'hunter2 hunter2'])(
    'refuses a file with %j without repeating its content',
    async (text) => {
      const file = join(dir, `bad-${randomUUID()}`)
      await writeFile(file, text)
      const refusal = await readMasterKey(file).catch((error: unknown) => error)
      expect(refusal).toBeInstanceOf(MasterKeyError)
      if (text !== '') expect((refusal as Error).message).not.toContain(text)
    },
  )

  test('refuses a folder with the reason', async () => {
    await expect(readMasterKey(dir)).rejects.toThrow(/cannot be read/)
  })
})
