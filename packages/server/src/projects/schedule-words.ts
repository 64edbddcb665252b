/** The schedule of a trigger in words, for effects and triggers alike. */
import cronstrue from 'cronstrue'

/** Null for a trigger without a schedule. */
export function scheduleWords({ cron, run_at }: { cron: unknown; run_at: unknown }): string | null {
  if (typeof cron === 'string') return cronWords(cron)
  return typeof run_at === 'string' ? `once at ${run_at}` : null
}

function cronWords(expression: string): string {
  try {
    return cronstrue.toString(expression.trim(), { use24HourTimeFormat: true, verbose: false })
  } catch {
    return unreadableCron(expression)
  }
}

/** A schedule that the library has no words for is shown as it is written. */
function unreadableCron(expression: string): string {
  return expression
}
