/**
 * `svc server --examine-settings`: what this program would refuse in the settings on stdin. Reads no configuration, so
 * that it also answers when that is invalid. One JSON document.
 */
import type { SettingsProblem, SettingsToExamine } from '@svc/contract/daemon/owner-socket'
import { ConfigError, parseConfig } from '../config.ts'

export function examineSettings({ settings }: SettingsToExamine): { problems: SettingsProblem[][] } {
  return { problems: settings.map(problemsOf) }
}

function problemsOf(env: Record<string, string>): SettingsProblem[] {
  try {
    parseConfig(env)
    return []
  } catch (error) {
    if (error instanceof ConfigError) return [...error.problems]
    throw error
  }
}
