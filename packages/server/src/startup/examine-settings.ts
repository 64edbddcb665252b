/**
 * `svc server --examine-settings`: what this program would refuse in the settings on stdin. Reads no configuration, so
 * that it also answers when that is invalid. One JSON document.
 */
import type { SettingsProblem, SettingsToExamine } from '@svc/contract/daemon/owner-socket'
import { leadsInto } from '../backup/leads-into.ts'
import { ConfigError, parseConfig } from '../config.ts'
import { backupsInside } from '../config/backups.ts'

export function examineSettings({ settings, follow_links = false }: SettingsToExamine): {
  problems: SettingsProblem[][]
} {
  return { problems: settings.map((env) => problemsOf(env, follow_links)) }
}

function problemsOf(env: Record<string, string>, followsLinks: boolean): SettingsProblem[] {
  try {
    const { dataDir, backups } = parseConfig(env)
    if (!followsLinks || backups === null || !leadsInto(dataDir, backups.place)) return []
    return [{ names: ['SVC_BACKUP_DIR'], says: backupsInside(dataDir, `${backups.place}, which leads there`) }]
  } catch (error) {
    if (error instanceof ConfigError) return [...error.problems]
    throw error
  }
}
