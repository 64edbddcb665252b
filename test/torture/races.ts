/**
 * `npm run torture -- races [--crs N] [--contests N] [--rounds N] [--only managed|external|file]` runs many clients at once
 * against one server and against two.
 */
import { check } from './check.ts'
import { agentPushesDuringMerge, manyIntoOneBase, manyMergersOfOne, outsiderDuringMerges } from './race.ts'
import { flags, kindsOf, withPostgres, withServers } from './run.ts'

const { rounds, crs, contests, only } = flags({ rounds: 1000, crs: 100, contests: 50, only: '' })
const problems: string[] = []
await withPostgres((databaseUrl) =>
  // From the second one on, every client alternates between the servers.
  withServers({ kinds: kindsOf(only), count: 2, shared: { databaseUrl } }, async (world) => {
    for (const project of world.projects) {
      await run(`${crs} change requests into one base at once, ${project.kind}`, () =>
        manyIntoOneBase(world, project, crs),
      )
      await run(`20 mergers of one change request, ${contests} times, ${project.kind}`, async () => {
        const found: string[] = []
        for (let n = 0; n < contests; n++) found.push(...(await manyMergersOfOne(world, project, 20)))
        return found
      })
      await run(`an outside pusher during 20 merges, ${project.kind}`, () => outsiderDuringMerges(world, project, 20))
      const count = { merged: 0, refused: 0 }
      await run(`an agent pushes during a merge, ${rounds / 2} times, ${project.kind}`, async () => {
        const found: string[] = []
        for (let n = 0; n < rounds / 2; n++) {
          const { problems: wrong, outcome } = await agentPushesDuringMerge(world, project)
          count[outcome]++
          found.push(...wrong)
        }
        return found
      })
      console.log(`  the merge came first ${count.merged} times, the push ${count.refused} times`)
    }
    await run('history, database and git', async () => (await check(world)).violations)
    return { problems }
  }),
)
process.exitCode = problems.length > 0 ? 1 : 0

async function run(what: string, race: () => Promise<string[]>): Promise<void> {
  const began = performance.now()
  const found = await race()
  problems.push(...found)
  console.log(`${what}: ${found.length} problems, ${((performance.now() - began) / 1000).toFixed(1)} s`)
  for (const problem of found.slice(0, 20)) console.log(`  ${problem.slice(0, 600)}`)
}
