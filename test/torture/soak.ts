/**
 * `npm run torture -- soak [--minutes 60] [--sessions 30] [--restart 5] [--seed N] [--report file]`: a server under everything at
 * once. Agents commit and push, people merge, triggers fire, webhooks are delivered, backups are made, and the server is stopped
 * or killed every five minutes (`--restart 0`: never). Its memory, handles, processes, rows and disk have to stay flat.
 */
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { conclude, flags } from './run.ts'
import { show, writeReport } from './soak/report.ts'
import { paceOf, soakServer } from './soak/soak-server.ts'

const { minutes, sessions, seed, restart, report } = flags({
  ...{ minutes: 60, sessions: 30, seed: Date.now() % 1_000_000, restart: 5, report: '' },
})
console.log(`seed ${seed}`)
const pace = paceOf({ minutes, restartMinutes: restart })
const { seen: _, ...ended } = await soakServer({ sessions, seed, pace, say: (line) => console.log(line) })
show(ended)
const path = report === '' ? join(tmpdir(), `svc-soak-${seed}.json`) : report
await writeReport(path, ended)
console.log(`report: ${path}`)
conclude(ended.problems)
