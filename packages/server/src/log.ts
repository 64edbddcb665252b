import pino, { type Logger } from 'pino'

/** The log goes to standard error: standard output is for what a person or a script asked for. */
export function makeLog(format: 'json' | 'pretty'): Logger {
  const level = 'info'
  const redact = ['*.authorization', '*.cookie', '*.token', '*.secret_key', '*.password']
  const base = null
  if (format === 'json')
    return pino(
      { level, base, redact, timestamp: pino.stdTimeFunctions.isoTime },
      pino.destination({ fd: 2, sync: true }),
    )
  return pino({ level, base, redact }, { write: (line: string) => void process.stderr.write(pretty(line)) })
}

const names: Record<number, string> = { 20: 'debug', 30: '', 40: 'warning: ', 50: 'error: ', 60: 'fatal: ' }

/** One readable line an event: time, what, facts. */
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
