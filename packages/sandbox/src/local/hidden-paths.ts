/** The operator's list of paths that sandboxes may not see. */
import { realpathSync, statSync } from 'node:fs'

import { binDir } from '../layout.ts'

export interface HiddenPath {
  path: string
  kind: 'folder' | 'file'
}

/** Resolved for each sandbox, since files come and go. Paths outside the sandbox's view need no hiding. */
export function hiddenFrom(paths: readonly string[]): HiddenPath[] {
  const found = new Map<string, HiddenPath>()
  for (const named of paths) {
    const path = realOrNull(named)
    if (path === null || !/^\/(?:usr|bin|sbin|lib\w*|etc)\//.test(path) || path.startsWith(`${binDir}/`)) continue
    found.set(path, { path, kind: statSync(path).isDirectory() ? 'folder' : 'file' })
  }
  // A folder sorts before its contents and hides them too.
  const sorted = [...found.values()].sort((one, other) => (one.path < other.path ? -1 : 1))
  return sorted.filter(({ path }) => !sorted.some((above) => path.startsWith(`${above.path}/`)))
}

/** The real path, since the kernel cannot mount below a link. */
function realOrNull(path: string): string | null {
  try {
    return realpathSync(path)
  } catch {
    // ENOENT: it does not exist now.
    return null
  }
}
