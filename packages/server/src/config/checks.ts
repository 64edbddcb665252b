import type { Settings } from './settings.ts'

/** The operator's limits on checks. */
export function readChecks(settings: Settings) {
  return {
    /** On this server; 0: none. */
    atOnce: settings.integer('SVC_CHECKS_AT_ONCE', 2, 0, 1000),
    /** Per account, across all servers. */
    perAccount: settings.integer('SVC_CHECKS_PER_ACCOUNT', 10, 1, 1000),
    /** The time limit of a command. */
    minutesMax: settings.integer('SVC_CHECK_MINUTES', 15, 1, 1440),
  }
}
