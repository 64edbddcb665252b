/**
 * `npm run bench -- git`, optionally with BENCH_ROUNDS, BENCH_COMMITS and BENCH_PARTS: the cost of change requests beside git's
 * cost for the same work.
 */
import { endPooledGit } from '../packages/git/src/index.ts'
import { Server } from '../test/e2e/harness.ts'
import { engineFigures } from './git/engine.ts'
import { firstFetchFigures } from './git/first-fetch.ts'
import { hangingFigures } from './git/hanging.ts'
import { externalFigures, managedFigures } from './git/http.ts'
import { printFigures, rounds as roundsOf } from './report/figures.ts'

const rounds = roundsOf(30)
const long = Number(process.env.BENCH_COMMITS ?? 50_000)

const known = ['engine', 'managed', 'external', 'first', 'hanging']
const parts = process.env.BENCH_PARTS?.split(',') ?? known
const unknown = parts.find((part) => !known.includes(part))
if (unknown !== undefined) throw new Error(`BENCH_PARTS names ${unknown}. There are: ${known.join(', ')}.`)
const has = (part: string) => parts.includes(part)

const server = await Server.start()
try {
  for (const commits of [10, long]) {
    const history = `a history of ${commits.toLocaleString('en')} commits`
    if (has('engine')) printFigures(`The engine alone, ${history}`, await engineFigures({ commits, rounds }))
    await endPooledGit()
    if (has('managed'))
      printFigures(
        `Through the API, managed, ${history}`,
        await managedFigures(server, { commits, rounds, isFresh: commits === 10 }),
      )
    await endPooledGit()
    if (has('external'))
      printFigures(`Through the API, behind HTTP, ${history}`, await externalFigures(server, { commits, rounds }))
    if (has('first')) {
      const figures = await firstFetchFigures(server, { commits, rounds: Math.min(rounds, 10) })
      printFigures(`A first fetch, behind HTTP, ${history}`, figures)
    }
  }
  if (has('hanging')) printFigures('Through the API, behind a host that hangs', await hangingFigures(server))
} finally {
  await server.end()
}
