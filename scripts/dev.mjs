// `npm run dev` runs the server from source and restarts it when a source changes. `bun --watch` replaces the process without
// letting it stop, but the server has a database and sandboxes to shut down.
import { watch } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { findBun } from './bun.mjs'
import { main, onStop, root, startProgram } from './console.mjs'
import { ensureInstalled } from './install.mjs'
import { ensureMachine } from './machine.mjs'

await main(async () => {
  await ensureInstalled()
  await ensureMachine()
  let forget
  const stopped = new Promise((resolve) => (forget = onStop(resolve)))
  const sources = watch(join(root, 'packages'), { recursive: true })
  try {
    return await serveUntil(stopped, sources)
  } finally {
    sources.close()
    forget()
  }
})

async function serveUntil(stopped, sources) {
  for (;;) {
    const changed = nextChange(sources)
    const server = startProgram(findBun(), [join(root, 'packages/svc/src/main.ts'), 'server', ...process.argv.slice(2)])
    // A server that exits by itself has a bug in its source, so the next change restarts it.
    void server.ended.then((code) => code !== 0 && console.error(`The server ended with exit code ${code}`))
    const signal = await Promise.race([stopped, changed])
    server.stop(signal ?? 'SIGTERM')
    const code = await server.ended
    if (signal !== null) return code
    console.error('A source has changed: starting again')
  }
}

/** Resolves with null once a source has changed and the editor has finished writing. */
function nextChange(sources) {
  return new Promise((resolve) => {
    const look = async (_event, file) => {
      if (file === null || !/\.(ts|tsx|sql|json)$/.test(file)) return
      // Neither tests nor the client and the pages run in the server.
      if (/\.test\.|node_modules|^(cli|dashboard|sdk)\//.test(file)) return
      sources.removeListener('change', look)
      await delay(100)
      resolve(null)
    }
    sources.on('change', look)
  })
}
