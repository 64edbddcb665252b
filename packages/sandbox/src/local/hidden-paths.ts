/** What the operator hides from sandboxes, of what they see of this machine. */
import { realpathSync, statSync } from 'node:fs'

import { binDir } from '../layout.ts'

export interface HiddenPath {
  path: string
  kind: 'folder' | 'file'
}

/** Looked up for each sandbox, since files come and go. What a sandbox does not see in any case needs no hiding. */
export function hiddenFrom(paths: readonly string[]): HiddenPath[] {
  const found = new Map<string, HiddenPath>()
  for (const named of paths) {
    const path = realOrNull(named)
    if (path === null || !/^\/(?:usr|bin|sbin|lib\w*|etc)\//.test(path) || path.startsWith(`${binDir}/`)) continue
    found.set(path, { path, kind: statSync(path).isDirectory() ? 'folder' : 'file' })
  }
  // A folder comes before what is in it, and then hides that too.
  const sorted = [...found.values()].sort((one, other) => (one.path < other.path ? -1 : 1))
  return sorted.filter(({ path }) => !sorted.some((above) => path.startsWith(`${above.path}/`)))
}

/** Its real path: below a link the kernel mounts nothing. */
function realOrNull(path: string): string | null {
  try {
    return realpathSync(path)
  } catch {
    // ENOENT: not there now.
    return null
  }
}
