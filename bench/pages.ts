/**
 * How the pages handle large data: long diffs, many files, long lists, long conversations. Uses the real program and a real
 * browser.
 */
import { printFigures } from './report/figures.ts'
import { changes } from './pages/changes.ts'
import { conversations } from './pages/conversations.ts'
import { first } from './pages/first.ts'
import { lists } from './pages/lists.ts'
import type { Report } from './pages/measures.ts'
import { makeWorld, type World } from './pages/world.ts'

const parts: Record<string, [string, (world: World) => Promise<Report>]> = {
  first: ['The first page', first],
  changes: ['The files of a change request', changes],
  lists: ['The list of change requests', lists],
  conversations: ['The conversation of a session', conversations],
}
const wanted = (process.env.BENCH_PAGES ?? Object.keys(parts).join(',')).split(',')

const world = await makeWorld()
try {
  for (const [name, [title, measure]] of Object.entries(parts)) {
    if (!wanted.includes(name)) continue
    const { figures, remarks } = await measure(world)
    printFigures(title, figures)
    for (const remark of remarks) console.log(remark)
  }
} finally {
  await world.end()
}
