/**
 * `npm run torture -- events [--events N] [--seed N] [--servers N]` kills servers while events are read and sent, and checks
 * that none is lost or out of order.
 */
import { tortureEvents } from './events/servers.ts'
import { conclude, flags } from './run.ts'

const { problems, ...did } = await tortureEvents({
  ...flags({ events: 3000, seed: 1, servers: 3, clients: 3, readers: 4 }),
  lifeMs: { min: 2_000, max: 15_000 },
  say: (line) => console.log(line),
})
console.log(JSON.stringify(did, null, 2))
conclude(problems)
