/** What the operator says of checks: how many run at a time, and for how long. */

export interface CheckConfig {
  /** On this server; 0: none. */
  atOnce: number
  /** Of one account, on all servers. */
  perAccount: number
  /** What a command may take. */
  minutesMax: number
}

type ReadNumber = (name: string, fallback: number, min: number, max: number) => number

export function readChecks(read: ReadNumber): CheckConfig {
  return {
    atOnce: read('SVC_CHECKS_AT_ONCE', 2, 0, 1000),
    perAccount: read('SVC_CHECKS_PER_ACCOUNT', 10, 1, 1000),
    minutesMax: read('SVC_CHECK_MINUTES', 15, 1, 1440),
  }
}
