/**
 * Redacts secrets in stored, shown and logged text. Text of an agent is matched only against what its session's
 * sandboxes received, so a redaction reveals nothing the agent does not have (docs/decisions/0026). The server's own
 * log, which no route returns, is matched against every known value.
 */
import { matchersOf, redactedCharsMin, tokenMatcher } from './known.ts'
import type { Matcher } from './matcher.ts'
import { heldBackChars, StreamRedactor } from './stream.ts'
import { emptySet, type ValueSet, ValueSets } from './value-set.ts'

export interface Redactor {
  /** For a complete text. */
  text(text: string): string
  /** For a growing text: returns the redacted text up to `released`, and its new value. */
  growing(text: string, so: { released: number; isQuiet: boolean }): { text: string; released: number }
  stream(): StreamRedactor
  /** A different object after the patterns changed. */
  readonly state: object
}

/** The values that the sandboxes of a session received. The sandbox of an app or check counts as a session of its own. */
interface KnownSession {
  secrets: ValueSet
  /** The keys of its sandbox generations, separate from the secrets, so that the cost of a start does not depend on the secrets. */
  keys: ValueSet
  sandboxes: Set<string>
}

interface KnownProject {
  revision: bigint
  secrets: ValueSet
  credential: { value: string; matchers: Matcher[] } | null
}

/** The least recently used are dropped. Starting a session or opening a project's secrets adds them again. */
const projectsMax = 500
const sessionsMax = 2_000
const keysMax = 30

export class Redaction {
  readonly #sets = new ValueSets()
  readonly #sessions = new Map<string, KnownSession>()
  readonly #sessionOf = new Map<string, string>()
  readonly #projects = new Map<string, KnownProject>()
  readonly #ofOperator = new Map<string, string>()
  #operator: Matcher[] = []

  /** Values the operator configured: keys of upstreams and git hosts and the database password. Only for the log. */
  constructor(operator: Record<string, string | null> = {}) {
    this.learnOperator(operator)
  }

  /** Keeps earlier values, because a replaced key may still appear. */
  learnOperator(operator: Record<string, string | null>): void {
    for (const [name, value] of Object.entries(operator)) if (value !== null) this.#ofOperator.set(value, name)
    this.#operator = matchersOf([...this.#ofOperator].map(([value, name]) => [name, value] as const))
  }

  /** Sets the secrets of a project at a revision. An older revision is ignored. */
  learn(projectId: string, revision: string | number | bigint, secrets: Record<string, string>): void {
    const known = this.#project(projectId)
    if (BigInt(revision) < known.revision) return
    known.revision = BigInt(revision)
    known.secrets = this.#sets.with(emptySet, Object.entries(secrets))
  }

  /** The server's own credential for the repository. Only for the log. */
  learnCredential(projectId: string, credential: string): void {
    const known = this.#project(projectId)
    if (known.credential?.value !== credential)
      known.credential = { value: credential, matchers: matchersOf([['git credential', credential]]) }
  }

  /** Adds the keys of a new sandbox. */
  sandboxBegins(sessionId: string, sandboxId: string, keys: Record<string, string>): void {
    const known = this.#session(sessionId)
    known.keys = this.#sets.with(known.keys.values.size > keysMax ? emptySet : known.keys, Object.entries(keys))
    known.sandboxes.add(sandboxId)
    this.#sessionOf.set(sandboxId, sessionId)
  }

  sandboxEnds(sandboxId: string): void {
    this.#sessions.get(this.#sessionOf.get(sandboxId) ?? '')?.sandboxes.delete(sandboxId)
    this.#sessionOf.delete(sandboxId)
  }

  /** Adds secrets that a sandbox of this session received or is about to receive. */
  given(sessionId: string, secrets: Iterable<readonly [name: string, value: string]>): void {
    const known = this.#session(sessionId)
    known.secrets = this.#sets.with(known.secrets, secrets)
  }

  /** For text that this session's agent may have written. Null means no session: only tokens of the service are matched. */
  of(sessionId: string | null): Redactor {
    const known = () => this.#sessions.get(sessionId ?? '')
    return {
      text: (text) => redact([...(known()?.keys.whole ?? []), ...(known()?.secrets.whole ?? []), tokenMatcher], text),
      growing: (text, so) => growing(growingMatchers(known()), text, so),
      stream: () => new StreamRedactor(growingMatchers(known())),
      get state() {
        return known()?.secrets ?? emptySet
      },
    }
  }

  /** For the response to a user's own request. No agent reads it, and it contains no text of an agent. */
  ofProject(projectId: string): Pick<Redactor, 'text'> {
    return { text: (text) => redact([...(this.#projects.get(projectId)?.secrets.whole ?? []), tokenMatcher], text) }
  }

  /** For the server's own log, which covers every project. */
  everything(text: string): string {
    const projects = [...this.#projects.values()]
    // Sandbox keys are tokens of the service, which match by their format.
    const sets = new Set([...this.#sessions.values(), ...projects].map(({ secrets }) => secrets))
    const credentials = projects.flatMap(({ credential }) => credential?.matchers ?? [])
    return redact([...[...sets].flatMap(({ whole }) => whole), ...credentials, ...this.#operator, tokenMatcher], text)
  }

  #session(sessionId: string): KnownSession {
    const known = this.#sessions.get(sessionId) ?? { secrets: emptySet, keys: emptySet, sandboxes: new Set() }
    putNewest(this.#sessions, sessionId, known, sessionsMax, ({ sandboxes }) => sandboxes.size === 0)
    return known
  }

  #project(projectId: string): KnownProject {
    const known = this.#projects.get(projectId) ?? { revision: -1n, secrets: emptySet, credential: null }
    putNewest(this.#projects, projectId, known, projectsMax, () => true)
    return known
  }
}

/** Inserts an entry as the newest and drops the oldest droppable one beyond the limit. */
function putNewest<T>(into: Map<string, T>, key: string, value: T, max: number, mayGo: (value: T) => boolean): void {
  into.delete(key)
  into.set(key, value)
  if (into.size <= max) return
  for (const [old, each] of into)
    if (old !== key && mayGo(each)) {
      into.delete(old)
      return
    }
}

function growingMatchers(known: KnownSession | undefined): Matcher[] {
  return [...(known?.keys.growing ?? []), ...(known?.secrets.growing ?? []), tokenMatcher]
}

function growing(matchers: Matcher[], text: string, { released, isQuiet }: { released: number; isQuiet: boolean }) {
  const stream = new StreamRedactor(matchers, text.length)
  stream.push(text)
  // At a pause, the text is shown up to its last word: most secrets contain no space, and one may be incomplete.
  const place = Math.max(released, text.length - heldBackChars, isQuiet ? lastWordAt(text) : 0)
  // Never splits a surrogate pair.
  const upTo = /[\ud800-\udbff]/.test(text.charAt(place - 1)) ? place - 1 : place
  return { text: stream.upTo(upTo), released: upTo }
}

function lastWordAt(text: string): number {
  return text.length - (/\S*$/.exec(text.slice(-heldBackChars))?.[0].length ?? 0)
}

function redact(matchers: Matcher[], text: string): string {
  if (text.length < redactedCharsMin) return text
  const stream = new StreamRedactor(matchers)
  return stream.push(text) + stream.end()
}
