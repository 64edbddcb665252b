/** Finds settings that have no effect. They do not stop the start, since an older or newer server may know them. */
import { existsSync } from 'node:fs'
import { closest } from '@svc/contract/schemas/closest'
import type { Config } from '../config.ts'

/** Variables of the client, installer, sandboxes and tests, which may be set where the server starts. */
const others =
  /^SVC_(?:API_URL|CLI_TOKEN|TOKEN|PROJECT_\w+|SESSION_ID|CONFIG_(?:FILE|DIR)|PAGER|DEBUG|BIN_DIR|RELEASE|UPDATE|FAILPOINTS|TEST_\w+|INTERNAL_URL|LLM_(?:BASE_URL|API_KEY)|SANDBOX_GENERATION|AGENT_NAME|BRANCH_NAME)$/

/** Names in the environment that look like settings but are not. */
export function unknownSettings(names: readonly string[], known: readonly string[]): string[] {
  return names
    .filter((name) => name.startsWith('SVC_') && !known.includes(name) && !others.test(name))
    .map((name) => {
      const suggestion = closest(name, known)
      const question = suggestion === null ? '' : ` Did you mean ${suggestion}?`
      return `${name} is not a setting of the server, so it has no effect.${question}`
    })
}

export function missingHiddenPaths(paths: readonly string[]): string[] {
  return paths
    .filter((path) => !existsSync(path))
    .map((path) => `SVC_SANDBOX_HIDDEN_PATHS names ${path}, which does not exist, so nothing is hidden there.`)
}

/** A worker makes the backups. */
export function backupsWithoutWorker({ roles, backups }: Pick<Config, 'roles' | 'backups'>): string[] {
  if (roles.worker || backups === null) return []
  return [
    'SVC_BACKUP_DIR is set, but SVC_ROLES lacks worker, so this server makes no backups by itself. Set SVC_BACKUP_DIR on a worker instead, or add worker to SVC_ROLES.',
  ]
}
