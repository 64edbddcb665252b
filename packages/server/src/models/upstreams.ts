/** Where models are asked: each upstream with its shape, its models and its keys. A file of them is read again when it changes. */
import { readFileSync, statSync } from 'node:fs'
import { modelOfPattern, parseUpstreams, type UpstreamConfig } from '../config-models.ts'
import type { Config } from '../config.ts'
import type { Deps } from '../deps.ts'
import { shortCredential } from '../redaction/short-credential.ts'
import { withholding } from '../redaction/withhold.ts'

export const withheldAnswer = 'The model upstream answered with a text that holds its key, so the text is not shown.'

export type Shape = UpstreamConfig['shape']

/** How long a key that was refused is asked last. */
const refusedMs = 60_000
const lookEveryMs = 1_000

export class Upstreams {
  #list: UpstreamConfig[]
  #guard: { list: UpstreamConfig[]; text: (text: string) => string } | null = null
  readonly #config: Pick<Config, 'modelUpstreams'>
  readonly #file: string | null
  #readOf = ''
  #lookedAt = 0
  /** The list whose short keys the operator was warned of. */
  #judged: UpstreamConfig[] | null = null
  /** Keys that were refused or had enough, and until when. */
  readonly #resting = new Map<string, number>()

  constructor(config: Pick<Config, 'model' | 'modelUpstreams'>) {
    this.#config = config
    this.#file = config.modelUpstreams.file
    this.#list = this.#file === null ? theOne(config.model) : config.modelUpstreams.list
    this.#readOf = this.#file === null ? '' : versionOf(this.#file)
  }

  /** Where the environment names none: the upstream that an owner saved. */
  use(list: UpstreamConfig[]): void {
    this.#list = list
  }

  /** Those that speak this shape and have this model, in the order they are listed. */
  for(deps: Pick<Deps, 'log' | 'redaction'>, shape: Shape, model: string): UpstreamConfig[] {
    return this.all(deps).filter(
      (upstream) => upstream.shape === shape && upstream.models.some((pattern) => modelOfPattern(pattern, model)),
    )
  }

  all(deps: Pick<Deps, 'log' | 'redaction'>): UpstreamConfig[] {
    this.#lookAgain(deps)
    if (this.#judged !== this.#list)
      for (const [what, key] of keysOf(this.#list))
        for (const warning of shortCredential(`The ${what}`, key)) deps.log.warn(warning)
    this.#judged = this.#list
    return this.#list
  }

  /** Replaces a complete text that holds any of the keys. */
  get guard(): (text: string) => string {
    if (this.#guard?.list !== this.#list)
      this.#guard = {
        list: this.#list,
        text: withholding(
          this.#list.flatMap(({ keys }) => keys),
          withheldAnswer,
        ),
      }
    return this.#guard.text
  }

  /** Those that work first; what was refused lately last, so that one call tries each once. */
  keysInTurn(upstream: UpstreamConfig, now: number): (string | null)[] {
    if (upstream.keys.length === 0) return [null]
    const restingUntil = (key: string) => Math.max(0, (this.#resting.get(key) ?? 0) - now)
    return upstream.keys.toSorted((one, other) => restingUntil(one) - restingUntil(other))
  }

  rest(key: string | null, now: number, ms = refusedMs): void {
    if (key !== null) this.#resting.set(key, now + ms)
  }

  /** A file that cannot be used leaves what was there: a slip of the operator stops no session. */
  #lookAgain(deps: Pick<Deps, 'log' | 'redaction'>): void {
    const now = Date.now()
    if (this.#file === null || now - this.#lookedAt < lookEveryMs) return
    this.#lookedAt = now
    const version = versionOf(this.#file)
    if (version === this.#readOf) return
    this.#readOf = version
    try {
      const read = parseUpstreams(readFileSync(this.#file, 'utf8'))
      if (typeof read === 'string') throw new Error(read)
      this.#list = read
      // Sandboxes that start now are told by it how their model is asked.
      this.#config.modelUpstreams.list = read
      deps.redaction.learnOperator(Object.fromEntries(keysOf(read)))
      deps.log.info({ upstreams: read.map(({ name }) => name) }, 'the upstreams of models were read again')
    } catch (error) {
      deps.log.error({ err: error }, 'SVC_LLM_UPSTREAMS_FILE changed and cannot be used; what was there stays')
    }
  }
}

function theOne(model: Config['model']): UpstreamConfig[] {
  if (model === null) return []
  const keys = model.key === null ? [] : [model.key]
  return [{ name: 'default', url: model.url, shape: 'openai', keys, models: ['*'] }]
}

export function keysOf(upstreams: UpstreamConfig[]): [name: string, key: string][] {
  return upstreams.flatMap(({ name, keys }) =>
    keys.map((key, index) => [`model key ${index + 1} of ${name}`, key] as [string, string]),
  )
}

function versionOf(file: string): string {
  try {
    const { mtimeNs, size, ino } = statSync(file, { bigint: true })
    return `${mtimeNs} ${size} ${ino}`
  } catch {
    return 'gone'
  }
}

const made = new WeakMap<object, Upstreams>()

/** One a configuration, which is one a server. */
export function upstreamsOf(config: Config): Upstreams {
  const known = made.get(config) ?? new Upstreams(config)
  made.set(config, known)
  return known
}
