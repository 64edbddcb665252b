/** A daemon for tests of unfinished work: it answers each save with a snapshot of a real repository. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeRepo, type TestRepository } from '@svc/git/testing'
import { gitText } from '../../change-requests/testing.ts'
import type { DaemonAddress } from '../../sandboxes/daemon-client.ts'
import type { SessionApp } from '../testing.ts'

interface WorkDaemon {
  /** The agent's clone, where a test makes snapshots. */
  work: TestRepository
  dir: string
  /** The commit that holds the agent's changes; null when it has none. */
  snapshot: string | null
  addressOf(sessionId: string, generation?: number): DaemonAddress
  close(): Promise<void>
}

/** `before` is called with each request. It may delay the answer, or replace it. */
export async function startWorkDaemon(
  app: SessionApp,
  before: (request: Request) => Promise<Response | null> = async () => null,
): Promise<WorkDaemon> {
  const dir = await mkdtemp(join(tmpdir(), 'svc-work-'))
  const work = await makeRepo({})
  await gitText(work, 'fetch', '--quiet', app.repo.dir, '+refs/heads/*:refs/heads/*')
  const socket = join(dir, 'd.sock')
  const server = Bun.serve({
    unix: socket,
    async fetch(request) {
      const replaced = await before(request)
      if (replaced !== null) return replaced
      const { have, pushed } = (await request.json()) as { have: string[]; pushed: string[] }
      const { snapshot } = daemon
      const state = snapshot === null ? 'clean' : 'saved'
      const head = {
        state,
        commit: snapshot,
        base: pushed[0] ?? null,
        files: 1,
        paths: ['a.txt'],
        unpushed: 0,
        notes: [],
      }
      return savedReply(work.dir, head, [...have, ...pushed])
    },
  })
  const daemon: WorkDaemon = {
    work,
    dir,
    snapshot: null,
    addressOf: (sessionId, generation = 1) => ({ socket, sandboxKey: 'svc_sbx_x', sessionId, generation }),
    async close() {
      await server.stop(true)
      await work.remove()
      await rm(dir, { recursive: true, force: true })
    },
  }
  return daemon
}

/** A line of JSON, and a pack of the commit without what the server has. */
export async function savedReply(
  repository: string,
  head: { commit: string | null; [fact: string]: unknown },
  without: string[],
): Promise<Response> {
  const line = Buffer.from(`${JSON.stringify({ ...head, pack: head.commit !== null })}\n`)
  if (head.commit === null) return new Response(line)
  const packing = Bun.spawn(['git', '-C', repository, 'pack-objects', '--revs', '--stdout', '--quiet', '--thin'], {
    stdin: Buffer.from([head.commit, ...without.map((sha) => `^${sha}`), ''].join('\n')),
    stdout: 'pipe',
    stderr: 'ignore',
  })
  return new Response(Buffer.concat([line, Buffer.from(await new Response(packing.stdout).arrayBuffer())]))
}
