// `npm run dev`: the server from source, stopped and started again whenever a source changes. Not `bun --watch`: it replaces
// the program without letting it stop, and a server has a database and sandboxes to put in order.
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
    // A server that ends by itself has a mistake in its source: the next change starts it again.
    void server.ended.then((code) => code !== 0 && console.error(`The server ended with exit code ${code}`))
    const signal = await Promise.race([stopped, changed])
    server.stop(signal ?? 'SIGTERM')
    const code = await server.ended
    if (signal !== null) return code
    console.error('A source has changed: starting again')
  }
}

/** Settles with null when a source has changed and the editor is done writing. */
function nextChange(sources) {
  return new Promise((resolve) => {
    const look = async (_event, file) => {
      if (file === null || !/\.(ts|tsx|sql|json)$/.test(file) || /\.test\.|node_modules/.test(file)) return
      sources.removeListener('change', look)
      await delay(100)
      resolve(null)
    }
    sources.on('change', look)
  })
}
