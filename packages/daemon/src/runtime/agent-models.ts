/** The models that agent files choose. */
import { closeSync, constants, openSync, readdirSync, readSync } from 'node:fs'
import { join } from 'node:path'

import { modelInFrontMatter } from '@svc/contract/manifest/front-matter'

const filesMax = 500
const beginningBytes = 16 * 1024

/** Keyed by the runtime's agent name: the file's path below the folder, without `.md`. */
export function modelsOfAgents(configDir: string): Record<string, string> {
  const found: Record<string, string> = {}
  for (const folder of ['agent', 'agents'])
    for (const file of markdownIn(join(configDir, folder))) {
      const model = modelInFrontMatter(beginningOf(join(configDir, folder, file)))
      if (model !== null) found[file.slice(0, -'.md'.length)] = model
    }
  return found
}

function markdownIn(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md'))
      .slice(0, filesMax)
  } catch {
    // A project without its own agents has no such folder.
    return []
  }
}

/** The agent owns these files, so this never follows a link and never waits for a pipe. */
function beginningOf(path: string): string {
  let file: number
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
  } catch {
    return ''
  }
  try {
    const bytes = Buffer.alloc(beginningBytes)
    return bytes.toString('utf8', 0, readSync(file, bytes))
  } catch {
    return ''
  } finally {
    closeSync(file)
  }
}
