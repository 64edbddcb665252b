import type { Settings } from './settings.ts'

/** The operator's limits on checks. */

export interface CheckConfig {
  /** On this server; 0: none. */
  atOnce: number
  /** Per account, across all servers. */
  perAccount: number
  /** The time limit of a command. */
  minutesMax: number
}

export function readChecks(settings: Settings): CheckConfig {
  return {
    atOnce: settings.integer('SVC_CHECKS_AT_ONCE', 2, 0, 1000),
    perAccount: settings.integer('SVC_CHECKS_PER_ACCOUNT', 10, 1, 1000),
    minutesMax: settings.integer('SVC_CHECK_MINUTES', 15, 1, 1440),
  }
}
