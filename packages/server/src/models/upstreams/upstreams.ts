/** The configured upstreams with their formats, models and keys. Their file is reloaded when it changes. */
import { readFileSync, statSync } from 'node:fs'
import { modelOfPattern, parseUpstreams, type UpstreamConfig } from '../../config/models.ts'
import type { Config } from '../../config.ts'
import type { Deps } from '../../deps.ts'
import { shortCredential } from '../../redaction/short-credential.ts'
import { withholding } from '../../redaction/withhold.ts'

export const withheldAnswer = 'The response of the model upstream contains its key, so it is not shown.'

export type Shape = UpstreamConfig['shape']

/** How long a rejected key is tried last. */
const refusedMs = 60_000
const pollMs = 1_000

export class Upstreams {
  #list: UpstreamConfig[]
  #guard: { list: UpstreamConfig[]; text: (text: string) => string } | null = null
  readonly #config: Pick<Config, 'modelUpstreams'>
  readonly #file: string | null
  #version = ''
  #polledAt = 0
  /** The list whose short keys were logged. */
  #checked: UpstreamConfig[] | null = null
  /** Rejected or rate-limited keys, and until when. */
  readonly #resting = new Map<string, number>()

  /** The status of the last call of each key, where it was a refusal of the key. */
  readonly #refused = new Map<string | null, number>()

  constructor(config: Pick<Config, 'model' | 'modelUpstreams'>) {
    this.#config = config
    this.#file = config.modelUpstreams.file
    this.#list = this.#file === null ? singleUpstream(config.model) : config.modelUpstreams.list
    this.#version = this.#file === null ? '' : versionOf(this.#file)
  }

  /** Sets the upstream an owner saved, when the environment names none. */
  use(list: UpstreamConfig[]): void {
    this.#list = list
    this.#refused.clear()
  }

  /** The upstreams with this format and model, in the configured order. */
  for(deps: Pick<Deps, 'log' | 'redaction'>, shape: Shape, model: string): UpstreamConfig[] {
    return this.all(deps).filter(
      (upstream) => upstream.shape === shape && upstream.models.some((pattern) => modelOfPattern(pattern, model)),
    )
  }

  all(deps: Pick<Deps, 'log' | 'redaction'>): UpstreamConfig[] {
    this.#reload(deps)
    if (this.#checked !== this.#list)
      for (const [what, key] of keysOf(this.#list))
        for (const warning of shortCredential(`The ${what}`, key)) deps.log.warn(warning)
    this.#checked = this.#list
    return this.#list
  }

  /** Replaces a text that contains any of the keys. */
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

  /** Working keys first, resting ones last, so that one call tries each once. */
  keysByReadiness(upstream: UpstreamConfig, now: number): (string | null)[] {
    if (upstream.keys.length === 0) return [null]
    const restingUntil = (key: string) => Math.max(0, (this.#resting.get(key) ?? 0) - now)
    return upstream.keys.toSorted((one, other) => restingUntil(one) - restingUntil(other))
  }

  /** `status`: of a refusal; null for a key that was accepted. */
  recordKey(key: string | null, status: number | null): void {
    if (status === null) this.#refused.delete(key)
    else this.#refused.set(key, status)
  }

  /** Those whose every key was refused at its last call. */
  refusing(): { url: string; status: number }[] {
    return this.#list.flatMap(({ url, keys }) => {
      const statuses = (keys.length === 0 ? [null] : keys).map((key) => this.#refused.get(key))
      const [status] = statuses
      return status === undefined || statuses.includes(undefined) ? [] : [{ url, status }]
    })
  }

  rest(key: string | null, now: number, ms = refusedMs): void {
    if (key !== null) this.#resting.set(key, now + ms)
  }

  /** An invalid file keeps the previous list, so that a mistake of the operator stops no session. */
  #reload(deps: Pick<Deps, 'log' | 'redaction'>): void {
    const now = Date.now()
    if (this.#file === null || now - this.#polledAt < pollMs) return
    this.#polledAt = now
    const version = versionOf(this.#file)
    if (version === this.#version) return
    this.#version = version
    try {
      const read = parseUpstreams(readFileSync(this.#file, 'utf8'))
      if (typeof read === 'string') throw new Error(read)
      this.#list = read
      // New sandboxes read their model's API from it.
      this.#config.modelUpstreams.list = read
      deps.redaction.learnOperator(Object.fromEntries(keysOf(read)))
      deps.log.info({ upstreams: read.map(({ name }) => name) }, 'model upstreams reloaded')
    } catch (error) {
      deps.log.error({ err: error }, 'SVC_LLM_UPSTREAMS_FILE is invalid; keeping the previous upstreams')
    }
  }
}

function singleUpstream(model: Config['model']): UpstreamConfig[] {
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

/** One per configuration, and so one per server. */
export function upstreamsOf(config: Config): Upstreams {
  const known = made.get(config) ?? new Upstreams(config)
  made.set(config, known)
  return known
}
