/**
 * Takes secrets out of what is kept, shown and logged. Text of an agent meets a matcher that holds what the sandboxes of
 * its session were given and nothing else, so what is replaced tells its readers nothing the agent does not have
 * (docs/decisions/0026). The server's own log, which no route hands out, is searched for every value the process knows.
 */
import { matchersOf, redactedCharsMin, tokenMatcher } from './known.ts'
import type { Matcher } from './matcher.ts'
import { heldBackChars, StreamRedactor } from './stream.ts'
import { emptySet, type ValueSet, ValueSets } from './value-set.ts'

export interface Redactor {
  /** Of a complete text. */
  text(text: string): string
  /** Of a text that grows: the part before `released`, and how far that is. */
  growing(text: string, so: { released: number; isQuiet: boolean }): { text: string; released: number }
  stream(): StreamRedactor
  /** Another one once what is looked for has changed. */
  readonly state: object
}

/** What the sandboxes of one session were given; an app's or a check's sandbox is a session of its own here. */
interface KnownSession {
  secrets: ValueSet
  /** Keys of its sandbox generations: apart from the secrets, so that a start costs the same however many those are. */
  keys: ValueSet
  sandboxes: Set<string>
}

interface KnownProject {
  revision: bigint
  secrets: ValueSet
  credential: { value: string; matchers: Matcher[] } | null
}

/** Forgotten again, the longest unused first: a start gives a session's values anew, whoever opens a project's secrets brings them back. */
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

  /** What the operator configured: keys of upstreams and git hosts, the database's password. For the log alone. */
  constructor(operator: Record<string, string | null> = {}) {
    this.learnOperator(operator)
  }

  /** Beside what is known: a key that was replaced may still come up. */
  learnOperator(operator: Record<string, string | null>): void {
    for (const [name, value] of Object.entries(operator)) if (value !== null) this.#ofOperator.set(value, name)
    this.#operator = matchersOf([...this.#ofOperator].map(([value, name]) => [name, value] as const))
  }

  /** All secrets of a project as they are at that revision. An older revision changes nothing. */
  learn(projectId: string, revision: string | number | bigint, secrets: Record<string, string>): void {
    const known = this.#project(projectId)
    if (BigInt(revision) < known.revision) return
    known.revision = BigInt(revision)
    known.secrets = this.#sets.with(emptySet, Object.entries(secrets))
  }

  /** What the server itself reaches the project's repository with. For the log alone. */
  learnCredential(projectId: string, credential: string): void {
    const known = this.#project(projectId)
    if (known.credential?.value !== credential)
      known.credential = { value: credential, matchers: matchersOf([['git credential', credential]]) }
  }

  /** A sandbox of this session begins, with keys of its own. */
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

  /** Secrets a sandbox of this session was given, or is about to be. They are looked for from here on. */
  given(sessionId: string, secrets: Iterable<readonly [name: string, value: string]>): void {
    const known = this.#session(sessionId)
    known.secrets = this.#sets.with(known.secrets, secrets)
  }

  /** For text of this session's agent, or text it can have a part in. Null: of no session, so only tokens of the service. */
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

  /** For the answer to a person about their own request. No agent reads it, and no text of an agent belongs in it. */
  ofProject(projectId: string): Pick<Redactor, 'text'> {
    return { text: (text) => redact([...(this.#projects.get(projectId)?.secrets.whole ?? []), tokenMatcher], text) }
  }

  /** For the server's own log, which is about every project. */
  everything(text: string): string {
    const projects = [...this.#projects.values()]
    // Keys of sandboxes are tokens of the service, which are found without being known.
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

/** The newest is last. One too many: the oldest that may go does. */
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
  // A quiet end is shown up to its last word: most secrets hold no space, and one may have come in half.
  const place = Math.max(released, text.length - heldBackChars, isQuiet ? lastWordAt(text) : 0)
  // Never between the halves of a surrogate pair.
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
