import type { SettingsProblem } from '@svc/contract/daemon/owner-socket'

/** The environment as settings. A bad value becomes a problem for the operator, and reads as its default. */
export class Settings {
  readonly problems: SettingsProblem[] = []
  readonly #env: Record<string, string | undefined>

  constructor(env: Record<string, string | undefined>) {
    this.#env = env
  }

  /** Null when it is unset or empty. */
  text(name: string): string | null {
    return this.#env[name] || null
  }

  refuse(name: string, rule: string): void {
    this.problem([name], `${name} ${rule}, but is ${JSON.stringify(this.#env[name])}.`)
  }

  problem(names: string[], says: string, values?: Record<string, string>): void {
    this.problems.push({ names, says, ...(values === undefined ? {} : { values }) })
  }

  /** `problem` never repeats the value, which may be a secret. */
  secret(name: string, isValid: (text: string) => boolean, problem: string): string | null {
    const text = this.text(name)
    if (text !== null && !isValid(text)) this.problem([name], `${name} ${problem}`)
    return text
  }

  matching(name: string, fallback: string, pattern: RegExp, rule: string): string {
    const text = this.text(name) ?? fallback
    if (!pattern.test(text)) this.refuse(name, rule)
    return text
  }

  integer<D extends number | null>(name: string, fallback: D, min: number, max: number): number | D {
    const text = this.text(name)
    if (text === null) return fallback
    if (/^\d{1,9}$/.test(text) && +text >= min && +text <= max) return +text
    this.refuse(name, `must be a whole number from ${min} to ${max}`)
    return fallback
  }

  flag(name: string, fallback: boolean): boolean {
    const text = this.text(name)
    if (text === null) return fallback
    if (!['1', 'true', '0', 'false'].includes(text)) this.refuse(name, 'must be 1 or 0')
    return text === '1' || text === 'true'
  }

  /** The first choice is the default unless there is a `fallback`. */
  choice<const T extends string>(name: string, choices: readonly [T, ...T[]], fallback: T = choices[0]): T {
    const text = this.text(name)
    if (text === null) return fallback
    const found = choices.find((each) => each === text)
    if (found === undefined) this.refuse(name, `must be ${choices.slice(0, -1).join(', ')} or ${choices.at(-1)}`)
    return found ?? fallback
  }

  url(name: string): string | null {
    const text = this.text(name)
    if (text === null) return null
    if (isHttpUrl(text)) return text.replace(/\/+$/, '')
    this.refuse(name, 'must be an http or https URL')
    return null
  }

  /** The entries of a list, separated by commas. */
  list(name: string): string[] {
    const entries = (this.text(name) ?? '').split(',').map((entry) => entry.trim())
    return entries.filter((entry) => entry !== '')
  }
}

export function isHttpUrl(text: string): boolean {
  return /^https?:\/\/[^/]/.test(text) && URL.canParse(text)
}
