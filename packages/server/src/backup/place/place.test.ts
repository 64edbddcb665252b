/** A folder and a bucket behave alike. The bucket is that of a real store. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { FolderPlace } from './folder.ts'
import { AbsentFileError, type Chunks, type Place, readText, writeText } from './place.ts'
import { S3Place } from './s3/bucket.ts'
import { openBucket } from './s3/open-bucket.ts'
import { Requests } from './s3/requests.ts'
import { hasObjectStore, ObjectStore } from './testing-object-store.ts'

setDefaultTimeout(120_000)

/** Short, so that a test does not wait for a holder that died. */
const lockTimes = { renewMs: 100, leaseMs: 1_500, settleMs: 100, pollMs: 50 }
const mib = 1024 ** 2

let dir: string
let store: ObjectStore | null = null
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'svc-places-'))
  if (hasObjectStore) store = await ObjectStore.start('backups')
})
afterAll(async () => {
  await store?.end()
  await rm(dir, { recursive: true })
})

let made = 0
async function bucketPlace(path = `place-${made++}`): Promise<S3Place> {
  const bucket = await openBucket(`s3://backups/${path}`, store!.settings())
  return new S3Place(new Requests(bucket, { now: Date.now, tries: 2, replyMs: 10_000 }), lockTimes)
}

async function* pieces(bytes: number, andThen = () => {}): Chunks {
  for (let left = bytes; left > 0; left -= mib) yield new Uint8Array(Math.min(left, mib)).fill(left % 251)
  andThen()
}

async function lengthOf(chunks: Chunks): Promise<number> {
  let bytes = 0
  for await (const chunk of chunks) bytes += chunk.length
  return bytes
}

const kinds: [string, boolean, (path?: string) => Promise<Place>][] = [
  ['folder', true, async (path = `place-${made++}`) => new FolderPlace(join(dir, path))],
  ['bucket', hasObjectStore, bucketPlace],
]

for (const [kind, isThere, open] of kinds)
  describe.skipIf(!isThere)(`a ${kind}`, () => {
    test('lists and reads what was written, of any size', async () => {
      const place = await open()
      expect([await place.isEmpty(), await place.list('packs/')]).toEqual([true, []])
      const sizes = { 'packs/a/none.pack': 0, 'packs/a/small.pack': 10, 'packs/b/large.pack': 70 * mib + 1 }
      for (const [name, bytes] of Object.entries(sizes)) await place.write(name, pieces(bytes))
      await writeText(place, 'backups/one.json', '{}')
      const listed = await place.list('packs/')
      expect(Object.fromEntries(listed.map(({ name, bytes }) => [name, bytes]))).toEqual(sizes)
      for (const [name, bytes] of Object.entries(sizes)) expect(await lengthOf(place.read(name))).toBe(bytes)
      expect([await place.isEmpty(), await readText(place, 'backups/one.json')]).toEqual([false, '{}'])
      await writeText(place, 'backups/one.json', '{"again":true}')
      expect(await readText(place, 'backups/one.json')).toBe('{"again":true}')
    })

    test('removes files, and an absent one is no error', async () => {
      const place = await open()
      await writeText(place, 'data/one/a', 'a')
      await writeText(place, 'data/one/b', 'b')
      await place.remove(['data/one/a', 'data/one/absent'])
      expect((await place.list('data/')).map(({ name }) => name)).toEqual(['data/one/b'])
      await place.remove(['data/one/b'])
      expect(await place.isEmpty()).toBe(true)
    })

    test('has no file of a write that failed', async () => {
      const place = await open()
      for (const bytes of [10, 70 * mib]) {
        const failing = pieces(bytes, () => {
          throw new Error('git ended')
        })
        await expect(place.write('data/one/file', failing)).rejects.toThrow('git ended')
      }
      expect(await place.list('data/')).toEqual([])
      await expect(lengthOf(place.read('data/one/file'))).rejects.toBeInstanceOf(AbsentFileError)
      expect(await readText(place, 'data/one/file')).toBeNull()
    })

    test('is locked by one command at a time', async () => {
      const place = await open('locked')
      const lock = await place.lock(() => {})
      expect(await (await open('locked')).lock(() => {})).toBeNull()
      await lock!.requireHeld()
      expect(await place.isEmpty()).toBe(true)
      await lock!.release()
      const next = await (await open('locked')).lock(() => {})
      await next!.release()
    })

    test('gives the lock to one of two commands that ask at the same moment', async () => {
      const places = await Promise.all([open('raced'), open('raced'), open('raced')])
      const locks = await Promise.all(places.map((place) => place.lock(() => {})))
      expect(locks.filter((lock) => lock !== null)).toHaveLength(1)
      await locks.find((lock) => lock !== null)!.release()
    })
  })

describe.skipIf(!hasObjectStore)('a bucket', () => {
  test('lists more names than one reply has', async () => {
    const place = await bucketPlace('many')
    const names = Array.from({ length: 1_050 }, (_, n) => `data/one/${n}`)
    const folder = join(store!.folder, 'backups/many')
    await mkdir(join(folder, 'data/one'), { recursive: true })
    await Promise.all(names.map((name) => writeFile(join(folder, name), 'x')))
    expect(new Set((await place.list('data/')).map(({ name }) => name))).toEqual(new Set(names))
  })

  test('removes the uploads of a command that died, and no others', async () => {
    const [place, other] = [await bucketPlace('uploads'), await openBucket('s3://backups/uploads-2', store!.settings())]
    const options = { now: Date.now, tries: 1, replyMs: 10_000 }
    const [requests, others] = [
      new Requests(await openBucket('s3://backups/uploads', store!.settings()), options),
      new Requests(other, options),
    ]
    await requests.beginUpload('packs/a/dead.pack')
    await others.beginUpload('packs/a/other.pack')
    expect(await requests.uploads('packs/')).toHaveLength(1)
    await place.removeUnfinished()
    expect([await requests.uploads('packs/'), await others.uploads('packs/')]).toEqual([
      [],
      [expect.objectContaining({ name: 'packs/a/other.pack' })],
    ])
  })

  test('takes the lock of a command that died, and stops one that lost it', async () => {
    const abandoned = await bucketPlace('abandoned')
    const lock = await abandoned.lock(() => {})
    const reasons: string[] = []
    // Its holder renews it no more: it does not reach the store, which has the object of another command.
    const requests = new Requests(await openBucket('s3://backups/abandoned', store!.settings()), {
      ...{ now: Date.now, tries: 1, replyMs: 10_000 },
    })
    const dead = { owner: 'dead', host: 'there', pid: 7, lease_ms: 300 }
    await requests.put('backup.lock', new TextEncoder().encode(JSON.stringify(dead)))
    await expect(lock!.requireHeld()).rejects.toThrow('Another backup to s3://backups/abandoned has begun')
    await expect(writeText(abandoned, 'backups/late.json', '{}')).rejects.toThrow('has begun')
    await lock!.release()
    const next = await (await bucketPlace('abandoned')).lock((reason) => reasons.push(reason))
    expect(reasons).toEqual(['for the lock of process 7 on there'])
    await next!.requireHeld()
    await next!.release()
    expect(await requests.list('', 10)).toEqual([])
  })

  test('says what is wrong with its settings', async () => {
    const wrong = async (address: string, more: Parameters<ObjectStore['settings']>[0], skewMs = 0) => {
      const bucket = await openBucket(address, store!.settings(more))
      const now = () => Date.now() + skewMs
      const place = new S3Place(new Requests(bucket, { now, tries: 2, replyMs: 5_000 }), lockTimes)
      return place.list('backups/').then(
        () => 'no error',
        (error: Error) => error.message,
      )
    }
    const unknown = { accessKeyId: 'someone-else', secretAccessKey: 'a-secret-value', sessionToken: null }
    const mistyped = { ...store!.settings().credentials!, secretAccessKey: 'a-secret-value' }
    const address = 's3://backups/svc'
    const said = {
      unknown: await wrong(address, { credentials: unknown }),
      mistyped: await wrong(address, { credentials: mistyped }),
      bucket: await wrong('s3://no-such-bucket/svc', {}),
      endpoint: await wrong(address, { endpoint: 'http://127.0.0.1:1' }),
      clock: await wrong(address, {}, 3_600_000),
      region: await wrong(address, { region: 'eu-central-1' }),
    }
    expect(said).toEqual({
      unknown: expect.stringMatching(/does not accept the credentials \(\w+\)\. Check AWS_ACCESS_KEY_ID/),
      mistyped: expect.stringMatching(/does not accept the credentials \(SignatureDoesNotMatch\)/),
      bucket: expect.stringMatching(/^There is no bucket no-such-bucket at http:.* Create it, or correct the address/),
      endpoint: expect.stringMatching(
        /^The store at http:\/\/127\.0\.0\.1:1 does not answer: .*SVC_BACKUP_S3_ENDPOINT/,
      ),
      clock: expect.stringMatching(/^The clock of this machine differs too much .* Set the clock/),
      region: expect.stringMatching(/is not in the region eu-central-1\. Set SVC_BACKUP_S3_REGION/),
    })
    expect(JSON.stringify(said)).not.toContain('a-secret-value')
  })
})
