/** The copy of a move while it is under way: it may take long, be cut, or be cancelled. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { until } from '../../testing-until.ts'
import { type Fleet, type FleetServer, makeFleet } from '../testing-fleet.ts'
import { TestProjectOfFleet } from './testing-moves.ts'

setDefaultTimeout(120_000)

const mebibyte = 1024 * 1024
let fleet: Fleet
let ada: FleetServer
let bob: FleetServer
let project: TestProjectOfFleet
let logOfBob: Promise<string>

beforeAll(async () => {
  fleet = await makeFleet(['ada', 'bob'], { SVC_REPLICA: 'none', SVC_BALANCE_HOMES: 'off' })
  ;[ada, bob] = fleet.servers as [FleetServer, FleetServer]
  expect((await ada.boot()).url).not.toBeNull()
  project = await TestProjectOfFleet.make(fleet, ada)
  await writeFile(join(fleet.dir, `work-${project.id}`, 'large'), randomBytes(mebibyte))
  await project.git('add', 'large')
  await project.git('commit', '-q', '-m', 'large')
  expect(await project.push(ada, 'HEAD', 'main')).toMatchObject({ code: 0 })
  const booted = await bob.boot()
  expect(booted.url).not.toBeNull()
  logOfBob = booted.errors()
})
afterAll(() => fleet.close())

/** Answers in place of ada what bob posts to its git. */
async function withGitOfAda(answer: (request: Request) => Promise<Response>, work: () => Promise<void>): Promise<void> {
  const between = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    fetch: (request) => (request.method === 'POST' ? answer(request) : passToAda(request)),
  })
  const addressOf = (url: string) =>
    fleet.query(`update server_instances set peer_url = $1 where server_name = 'ada'`, [url])
  try {
    await addressOf(`http://127.0.0.1:${between.port}`)
    await work()
  } finally {
    await addressOf(ada.url)
    await between.stop(true)
  }
}

async function passToAda(request: Request): Promise<Response> {
  const { pathname, search } = new URL(request.url)
  const { method, headers } = request
  const body = method === 'POST' ? await request.arrayBuffer() : null
  return fetch(`${ada.url}${pathname}${search}`, { method, headers, body })
}

/** The repositories that bob copies for moves. */
const coming = () => readdir(join(fleet.dir, 'bob', 'moving')).catch(() => [])

async function cancel(): Promise<void> {
  expect(await project.request(ada, 'DELETE', '/home/move')).toMatchObject({ status: 200 })
  await until('the target has removed its copy', async () => (await coming()).length === 0)
}

test('a copy that is under way stops when its move is cancelled, and leaves nothing', async () => {
  let asked = 0
  const never = () => {
    asked++
    return new Promise<Response>(() => {})
  }
  await withGitOfAda(never, async () => {
    await project.move(ada, bob)
    await until('bob fetches', () => asked > 0)
    expect(await coming()).toEqual([`${project.id}.git`])
    await cancel()
  })
})

test('a pass that brings something keeps its move from being undone, and one that brings nothing does not', async () => {
  const half = async (request: Request) => {
    const answer = await passToAda(request)
    const bytes = new Uint8Array(await answer.arrayBuffer())
    const isPack = bytes.length > mebibyte
    const start = new ReadableStream({ start: (out) => out.enqueue(bytes.subarray(0, bytes.length / 2)) })
    return new Response(isPack ? start : bytes, { headers: { 'content-type': answer.headers.get('content-type')! } })
  }
  const ofMove = 'project_moves where project_id = $1 and ended_at is null'
  const asIf = (since: string) =>
    fleet.query(`update ${ofMove.replace('where', `set progress_at = now() - interval '${since}' where`)}`, [
      project.id,
    ])
  const isRecent = async () => {
    const rows = await fleet.query(`select from ${ofMove} and progress_at > now() - interval '5 minutes'`, [project.id])
    return rows.length > 0
  }
  await withGitOfAda(half, async () => {
    await project.move(ada, bob)
    await until('half of the pack is at bob', async () => {
      const names = await readdir(join(fleet.dir, 'bob', 'moving', `${project.id}.git`, 'objects/pack')).catch(() => [])
      return names.some((name) => name.startsWith('tmp_pack'))
    })
    await asIf('10 minutes')
    await until('the move has made progress', isRecent)
    await until('the move is undone', async () => {
      await asIf('1 hour')
      return (await project.lastMove()).phase === 'failed'
    })
    expect(await project.ended()).toMatchObject({ home: 'ada', error: 'ada and bob made no progress.' })
    await until('the target has removed its copy', async () => (await coming()).length === 0)
  })
})

test('a move whose source sends nothing says so in words of its own', async () => {
  const ofGit = 'ERR Operation too slow. Less than 1 bytes/sec transferred the last 300 seconds'
  const silent = async () => {
    const text = `${(ofGit.length + 4).toString(16).padStart(4, '0')}${ofGit}`
    return new Response(text, { headers: { 'content-type': 'application/x-git-upload-pack-result' } })
  }
  await withGitOfAda(silent, async () => {
    await project.move(ada, bob)
    const reason = 'The connection to ada was silent for minutes, so bob begins the copy again.'
    await until('the reason', async () => (await project.lastMove()).waits_for === reason)
    await cancel()
  })
})

test('the log of the target names a move that ended while it copied, and its phase', async () => {
  await withGitOfAda(
    () => new Promise<Response>(() => {}),
    async () => {
      await project.move(ada, bob)
      await until('bob copies', async () => (await coming()).length > 0)
      await cancel()
    },
  )
  const [last] = await fleet.query<{ move_id: string }>('select move_id from project_moves order by requested_at desc')
  await bob.kill('SIGTERM')
  const lines = (await logOfBob).split('\n').filter((line) => line.includes('a move ended while it was copied'))
  expect(lines.map((line) => JSON.parse(line) as object)).toContainEqual(
    expect.objectContaining({ move_id: last!.move_id, project_id: project.id, phase: 'copying' }),
  )
})
