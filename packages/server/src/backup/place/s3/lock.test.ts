/** Stores that lack conditional writes, and networks that fail: what the real store of the other tests does not do. */
import { afterEach, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { readText } from '../place.ts'
import { S3Place } from './bucket.ts'
import { openBucket } from './open-bucket.ts'
import { Requests } from './requests.ts'

const lockTimes = { renewMs: 50, leaseMs: 400, settleMs: 200, pollMs: 20 }

const servers: Bun.Server<undefined>[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop(true)
})

/** Objects, and neither lists nor uploads. */
function standIn(conditions: 'ignored' | 'refused'): string {
  const objects = new Map<string, Uint8Array<ArrayBuffer>>()
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const path = new URL(request.url).pathname
      const isConditional = request.headers.has('if-none-match') || request.headers.has('if-match')
      if (request.method === 'PUT' && isConditional && conditions === 'refused')
        return refusal(501, 'NotImplemented', 'A header implies functionality that is not implemented.')
      if (request.method === 'PUT') objects.set(path, new Uint8Array(await request.arrayBuffer()))
      if (request.method === 'DELETE') objects.delete(path)
      if (request.method !== 'GET') return new Response()
      const found = objects.get(path)
      if (found === undefined) return refusal(404, 'NoSuchKey', 'The specified key does not exist.')
      const etag = `"${createHash('md5').update(found).digest('hex')}"`
      return new Response(found, { headers: { etag } })
    },
  })
  servers.push(server)
  return `http://127.0.0.1:${server.port}`
}

function refusal(status: number, code: string, message: string): Response {
  return new Response(`<Error><Code>${code}</Code><Message>${message}</Message></Error>`, { status })
}

async function placeAt(endpoint: string, tries = 1): Promise<S3Place> {
  const credentials = { accessKeyId: 'someone', secretAccessKey: 'a-secret-value', sessionToken: null }
  const bucket = await openBucket('s3://backups/svc', {
    ...{ endpoint, region: 'us-east-1', addressing: null, credentials, credentialsFile: null },
  })
  return new S3Place(new Requests(bucket, { now: Date.now, tries, replyMs: 5_000 }), lockTimes)
}

for (const conditions of ['ignored', 'refused'] as const)
  test(`locks a bucket whose store has conditional writes ${conditions}`, async () => {
    const endpoint = standIn(conditions)
    const places = await Promise.all([placeAt(endpoint), placeAt(endpoint), placeAt(endpoint)])
    const locks = await Promise.all(places.map((place) => place.lock(() => {})))
    const held = locks.filter((lock) => lock !== null)
    expect(held).toHaveLength(1)
    expect(await (await placeAt(endpoint)).lock(() => {})).toBeNull()
    await held[0]!.requireHeld()
    await held[0]!.release()
    await (await (await placeAt(endpoint)).lock(() => {}))!.release()
  })

test('sends a request again when the store is busy, and goes on with a download that broke', async () => {
  const content = Buffer.alloc(4 * 1024 ** 2, '0123456789')
  const ranges: (string | undefined)[] = []
  let refused = 0
  const server = createServer((request, response) => {
    if (refused++ < 2) {
      response.writeHead(503).end('<Error><Code>SlowDown</Code></Error>')
      return
    }
    const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0)
    ranges.push(request.headers.range)
    response.writeHead(200, { etag: '"one"', 'content-length': content.length - from })
    if (from > 0) response.end(content.subarray(from))
    else response.write(content.subarray(0, content.length / 2), () => request.socket.destroy())
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  try {
    const place = await placeAt(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, 4)
    expect((await readText(place, 'data/file')) === content.toString()).toBe(true)
    expect(ranges).toEqual([undefined, expect.stringMatching(/^bytes=[1-9]/)])
  } finally {
    server.close()
  }
})

test('reads the credentials of a file at each use', async () => {
  const file = `${import.meta.dir}/credentials-${crypto.randomUUID()}`
  const settings = {
    ...{ endpoint: 'https://store.example', region: 'us-east-1', addressing: null, credentials: null },
    credentialsFile: file,
  }
  await expect(openBucket('s3://backups', settings)).rejects.toThrow('SVC_BACKUP_S3_CREDENTIALS_FILE cannot be read')
  try {
    await Bun.write(file, '[default]\naws_access_key_id = one\n')
    await expect(openBucket('s3://backups', settings)).rejects.toThrow('needs the lines aws_access_key_id')
    await Bun.write(
      file,
      '[other]\naws_access_key_id=two\n[default]\naws_access_key_id = one\naws_secret_access_key = a/b+c=\naws_session_token=t\n',
    )
    const { credentials, url, prefix } = await openBucket('s3://backups', settings)
    expect(credentials).toEqual({ accessKeyId: 'one', secretAccessKey: 'a/b+c=', sessionToken: 't' })
    expect([url.toString(), prefix]).toEqual(['https://store.example/backups/', ''])
  } finally {
    await Bun.file(file).delete()
  }
})

test('has the bucket in the host or in the path of its URLs', async () => {
  const credentials = { accessKeyId: 'one', secretAccessKey: 'two', sessionToken: null }
  const urlOf = async (address: string, endpoint: string | null, addressing: 'path' | 'host' | null) => {
    const settings = { endpoint, region: 'eu-central-1', addressing, credentials, credentialsFile: null }
    return (await openBucket(address, settings)).url.toString()
  }
  expect([
    await urlOf('s3://backups/svc/', null, null),
    await urlOf('s3://old.bucket', null, null),
    await urlOf('s3://backups', 'https://store.example:9000/s3', null),
    await urlOf('s3://backups', 'https://store.example:9000', 'host'),
  ]).toEqual([
    'https://backups.s3.eu-central-1.amazonaws.com/',
    'https://s3.eu-central-1.amazonaws.com/old.bucket/',
    'https://store.example:9000/s3/backups/',
    'https://backups.store.example:9000/',
  ])
  for (const address of ['s3:/backups', 's3://', 's3://a/../b', 's3://backups/a b'])
    await expect(urlOf(address, null, null)).rejects.toThrow('The address of the backups must')
})
