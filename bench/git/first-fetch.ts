/** The first preview of a repository that was never fetched, beside a clone of it from the same host. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeRepo } from '../../packages/git/src/testing.ts'
import type { Server } from '../../test/e2e/harness.ts'
import { type Figure, interleaved, median } from '../report/figures.ts'
import { startSeparateHost } from './separate-host.ts'
import { Client } from './http.ts'
import { fill, raw } from './repositories.ts'

/** Repeats the request as long as the response is that the fetch is still running: the request itself waits for it. */
export async function firstFetchFigures(server: Server, input: { commits: number; rounds: number }): Promise<Figure[]> {
  const origin = await makeRepo({ main: {} })
  const { pairs } = await fill(origin, { commits: input.commits, pairs: 1 })
  const host = await startSeparateHost(origin.dir)
  const dir = await mkdtemp(join(tmpdir(), 'svc-bench-'))
  let round = 0
  const clone = (name: string, more: string[] = []) =>
    raw(join(dir, `${name}-${++round}`), [
      ...more,
      'clone',
      '--quiet',
      '--bare',
      host.url,
      join(dir, `${name}-${round}`),
    ])
  const preview = async () => {
    const project = await Client.project(server, { repo_url: host.url, name: `first-${input.commits}-${++round}` })
    const client = new Client(server, project)
    const one = await client.open(pairs[0]!)
    while ((await server.api(`${one}/merge-preview`)).status === 503);
  }
  try {
    const times = await interleaved(input.rounds, {
      preview,
      clone: () => clone('plain'),
      checked: () => clone('checked', ['-c', 'fetch.fsckObjects=true']),
    })
    const what = 'first preview of a project just created'
    return [
      { what, ms: median(times.preview), floor: 'git clone --bare', floorMs: median(times.clone) },
      { what, ms: median(times.preview), floor: 'the same, objects checked', floorMs: median(times.checked) },
    ]
  } finally {
    await host.close()
    await origin.remove()
    await rm(dir, { recursive: true })
  }
}
