import pino, { type Logger } from 'pino'
import { requestFacts } from './http/request-context.ts'

/**
 * The log goes to standard error: standard output is for what a person or a script requested. `redact` removes
 * secrets from messages; identifiers (ids, methods, statuses) stay, or a project could blank the log with a secret of
 * its choice.
 */
export function makeLog(
  format: 'json' | 'pretty',
  redact: (text: string) => string,
  write: (line: string) => void = (line) => void process.stderr.write(line),
  ids: () => object = () => ({}),
): Logger {
  const paths = ['*.authorization', '*.cookie', '*.token', '*.secret_key', '*.password']
  // The facts of a line itself win.
  const options = { level: 'info', base: null, redact: paths, mixin: () => ({ ...requestFacts(), ...ids() }) }
  const redacted = (line: string) => redactLine(line, redact)
  return format === 'json'
    ? pino({ ...options, timestamp: pino.stdTimeFunctions.isoTime }, { write: (line) => write(redacted(line)) })
    : pino(options, { write: (line) => write(pretty(redacted(line))) })
}

/** The runtime would print a rejection unredacted and may end the process. A bug in one request must not stop the server. */
export function logUnhandledRejections(log: Logger): void {
  process.on('unhandledRejection', (error: unknown) => log.error({ err: error }, 'unhandled rejection'))
}

const identifying = /^(level|time|method|status|code|ms|address|revision|level|generation|type|.*_id)$/

function redactLine(line: string, redact: (text: string) => string): string {
  const entry = JSON.parse(line) as Record<string, unknown>
  const fields = Object.entries(entry).map(([name, value]) => [
    name,
    identifying.test(name) ? value : redactValue(value, redact),
  ])
  return `${JSON.stringify(Object.fromEntries(fields))}\n`
}

function redactValue(value: unknown, redact: (text: string) => string): unknown {
  if (typeof value === 'string') return redact(value)
  if (Array.isArray(value)) return value.map((each) => redactValue(each, redact))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [redact(name), redactValue(each, redact)]))
}

const names: Record<number, string> = { 20: 'debug', 30: '', 40: 'warning: ', 50: 'error: ', 60: 'fatal: ' }

/** One readable line per event: time, message, facts. */
function pretty(line: string): string {
  const { level, time, msg, err, ...facts } = JSON.parse(line) as {
    level: number
    time: number
    msg?: string
    err?: { message?: string; stack?: string }
  }
  const clock = new Date(time).toTimeString().slice(0, 8)
  const shown = Object.entries(facts).map(
    ([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  )
  const cause = err === undefined ? '' : `\n  ${level >= 50 ? (err.stack ?? err.message) : err.message}`
  return `${clock} ${names[level] ?? ''}${msg ?? ''}${shown.length > 0 ? `  ${shown.join(' ')}` : ''}${cause}\n`
}
