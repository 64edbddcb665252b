/** `npm run bench -- git`, or with BENCH_ROUNDS and BENCH_COMMITS: what change requests cost beside what git costs for the same. */
import { endStanding } from '../packages/git/src/index.ts'
import { Server } from '../test/e2e/harness.ts'
import { engineFigures } from './git/engine.ts'
import { hangingFigures } from './git/hanging.ts'
import { externalFigures, managedFigures } from './git/http.ts'
import { printFigures } from './report/figures.ts'

const rounds = Number(process.env.BENCH_ROUNDS ?? 30)
const long = Number(process.env.BENCH_COMMITS ?? 50_000)

const server = await Server.start()
try {
  for (const commits of [10, long]) {
    const history = `a history of ${commits.toLocaleString('en')} commits`
    printFigures(`The engine alone, ${history}`, await engineFigures({ commits, rounds }))
    await endStanding()
    printFigures(`Through the API, managed, ${history}`, await managedFigures(server, { commits, rounds }))
    printFigures(`Through the API, behind HTTP, ${history}`, await externalFigures(server, { commits, rounds }))
  }
  printFigures('Through the API, behind a host that hangs', await hangingFigures(server))
} finally {
  await server.end()
}
