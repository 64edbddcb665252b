/**
 * Takes secrets out of what is kept, shown and logged. It knows what this process has opened: a value it never saw cannot be in
 * words that pass through it. Nothing here is stored.
 */
import { matchersOf, redactedCharsMin, tokenMatcher } from './known.ts'
import type { Matcher } from './matcher.ts'
import { StreamRedactor } from './stream.ts'

export interface Redactor {
  text(text: string): string
  /** Of a text that still grows: without the end that may become a secret with what follows. */
  growing(text: string): string
  stream(): StreamRedactor
  /** Another one once what is looked for has changed. */
  readonly state: object
}

interface KnownProject {
  revision: bigint
  secrets: Map<string, string>
  /** Values that were replaced or deleted while sandboxes that had them live on. */
  past: Map<string, string>
  credential: string | null
  sandboxes: Set<string>
  matchers: Matcher[] | null
}

/** Projects are forgotten again, the longest unused first; whoever opens their secrets brings them back. */
const projectsMax = 500
const pastMax = 200

export class Redaction {
  readonly #projects = new Map<string, KnownProject>()
  readonly #ofOperator = new Map<string, string>()
  /** Keys of one sandbox generation each: apart from the project's, so that a start does not cost more the more there are. */
  readonly #keys = new Map<string, { projectId: string; matchers: Matcher[] }>()
  #operator: Matcher[] = []

  /** What the operator configured and nobody should read: of upstreams, git hosts and the database. */
  constructor(operator: Record<string, string | null> = {}) {
    this.learnOperator(operator)
  }

  /** More of the operator's, beside what is known: a key that was replaced may still be in what is said. */
  learnOperator(operator: Record<string, string | null>): void {
    for (const [name, value] of Object.entries(operator)) if (value !== null) this.#ofOperator.set(value, name)
    const values = [...this.#ofOperator].map(([value, name]) => [name, value] as const)
    this.#operator = [...matchersOf(values), tokenMatcher]
    for (const known of this.#projects.values()) known.matchers = null
  }

  /** All secrets of a project as they are at that revision. What is older than what is known changes nothing. */
  learn(projectId: string, revision: string | number | bigint, secrets: Record<string, string>): void {
    const known = this.#project(projectId)
    if (BigInt(revision) < known.revision) return
    known.revision = BigInt(revision)
    const next = new Map(Object.entries(secrets).filter(([, value]) => value.length >= redactedCharsMin))
    if (next.size === known.secrets.size && [...next].every(([name, value]) => known.secrets.get(name) === value))
      return
    if (known.sandboxes.size > 0)
      for (const [name, value] of known.secrets)
        if (next.get(name) !== value && known.past.size < pastMax) known.past.set(value, name)
    known.secrets = next
    known.matchers = null
  }

  /** What the server itself reaches the project's repository with. */
  learnCredential(projectId: string, credential: string): void {
    const known = this.#project(projectId)
    if (known.credential === credential) return
    known.credential = credential
    known.matchers = null
  }

  /** What one sandbox is given beside the secrets. */
  sandboxBegins(projectId: string, sandboxId: string, keys: Record<string, string>): void {
    this.#project(projectId).sandboxes.add(sandboxId)
    this.#keys.set(sandboxId, { projectId, matchers: matchersOf(Object.entries(keys)) })
  }

  sandboxEnds(sandboxId: string): void {
    const known = this.#projects.get(this.#keys.get(sandboxId)?.projectId ?? '')
    this.#keys.delete(sandboxId)
    known?.sandboxes.delete(sandboxId)
    if (known === undefined || known.sandboxes.size > 0 || known.past.size === 0) return
    known.past.clear()
    known.matchers = null
  }

  /** For the words of a project, or of one of its sandboxes. It follows every change of its secrets. */
  of(projectId: string, sandboxId: string | null = null): Redactor {
    const matchers = () => [...(this.#keys.get(sandboxId ?? '')?.matchers ?? []), ...this.#matchersOf(projectId)]
    return redactor(matchers, () => this.#matchersOf(projectId))
  }

  /** For the server's own log, which is about every project. */
  everything(text: string): string {
    const all = [
      ...this.#keys.values(),
      ...[...this.#projects.keys()].map((id) => ({ matchers: this.#matchersOf(id) })),
    ]
    const distinct = new Set([...all.flatMap(({ matchers }) => matchers), ...this.#operator])
    return redact([...distinct], text)
  }

  #matchersOf(projectId: string): Matcher[] {
    const known = this.#projects.get(projectId)
    if (known === undefined) return this.#operator
    known.matchers ??= [
      ...matchersOf([
        ...known.secrets,
        ...[...known.past].map(([value, name]) => [name, value] as const),
        ...(known.credential === null ? [] : [['git credential', known.credential] as const]),
      ]),
      ...this.#operator,
    ]
    return known.matchers
  }

  #project(projectId: string): KnownProject {
    const known = this.#projects.get(projectId) ?? {
      revision: -1n,
      secrets: new Map<string, string>(),
      past: new Map<string, string>(),
      credential: null,
      sandboxes: new Set<string>(),
      matchers: null,
    }
    // The newest is last.
    this.#projects.delete(projectId)
    this.#projects.set(projectId, known)
    if (this.#projects.size > projectsMax)
      for (const [id, { sandboxes }] of this.#projects)
        if (sandboxes.size === 0 && id !== projectId) {
          this.#projects.delete(id)
          break
        }
    return known
  }
}

function redactor(matchers: () => Matcher[], state: () => object): Redactor {
  return {
    text: (text) => redact(matchers(), text),
    growing: (text) => new StreamRedactor(matchers()).push(text),
    stream: () => new StreamRedactor(matchers()),
    get state() {
      return state()
    },
  }
}

function redact(matchers: Matcher[], text: string): string {
  if (text.length < redactedCharsMin) return text
  const stream = new StreamRedactor(matchers)
  return stream.push(text) + stream.end()
}
