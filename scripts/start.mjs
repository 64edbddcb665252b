// `npm start` takes a fresh clone to a running server in the foreground. Arguments go to `svc server`.
import { ensureBuilt, program } from './build.mjs'
import { main, runInForeground } from './console.mjs'
import { ensureInstalled } from './install.mjs'
import { ensureMachine } from './machine.mjs'

await main(async () => {
  await ensureInstalled()
  await ensureBuilt()
  await ensureMachine()
  return await runInForeground(program, ['server', ...process.argv.slice(2)])
})
