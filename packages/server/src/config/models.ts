/** Model upstreams: one from three variables, or several from a file. */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Settings } from './settings.ts'

export interface UpstreamConfig {
  name: string
  /** Base address, as an SDK of that shape expects it. */
  url: string
  shape: 'openai' | 'anthropic'
  keys: string[]
  /** Names, or patterns with `*`. */
  models: string[]
}

export function readModels(settings: Settings) {
  const url = settings.url('SVC_LLM_UPSTREAM_URL')
  const path = settings.text('SVC_LLM_UPSTREAMS_FILE')
  const file = path === null ? null : resolve(path)
  const name = settings.text('SVC_LLM_MODEL')
  const key = settings.text('SVC_LLM_UPSTREAM_KEY')
  const modelNames = settings.list('SVC_LLM_MODELS')
  const list: UpstreamConfig[] = []
  if (url === null && file === null && modelNames.length > 0)
    settings.problem(
      ['SVC_LLM_MODELS', 'SVC_LLM_UPSTREAM_URL'],
      'SVC_LLM_MODELS is set, so SVC_LLM_UPSTREAM_URL or SVC_LLM_UPSTREAMS_FILE must be set too.',
    )
  if (url !== null) {
    if (name === null)
      settings.problem(
        ['SVC_LLM_UPSTREAM_URL', 'SVC_LLM_MODEL'],
        'SVC_LLM_UPSTREAM_URL is set, so SVC_LLM_MODEL must name the model to use there.',
      )
    if (file !== null)
      settings.problem(
        ['SVC_LLM_UPSTREAMS_FILE', 'SVC_LLM_UPSTREAM_URL'],
        'Set SVC_LLM_UPSTREAM_URL or SVC_LLM_UPSTREAMS_FILE, not both.',
      )
  }
  if (file !== null && url === null) list.push(...readFile(file, settings))
  const first = url === null ? (list[0] ?? null) : { url, keys: key === null ? [] : [key] }
  const model = name ?? list.flatMap(({ models }) => models).find((each) => !each.includes('*')) ?? null
  if (first !== null && model === null && url === null)
    settings.problem(['SVC_LLM_MODEL'], 'SVC_LLM_MODEL must name a model: the upstreams only list patterns.')
  return {
    /** The upstream and model for sessions that name none. */
    model: first === null ? null : { url: first.url, key: first.keys[0] ?? null, name: model ?? '' },
    modelUpstreams: { file: url === null ? file : null, list },
    /** Other models that sessions may choose. */
    modelNames,
    /** Per session. */
    modelCallsPerMinute: settings.integer('SVC_LLM_CALLS_PER_MINUTE', 120, 1, 100_000),
  }
}

function readFile(file: string, settings: Settings): UpstreamConfig[] {
  try {
    const read = parseUpstreams(readFileSync(file, 'utf8'))
    if (typeof read !== 'string') return read
    settings.problem(['SVC_LLM_UPSTREAMS_FILE'], `SVC_LLM_UPSTREAMS_FILE (${file}): ${read}`)
  } catch (error) {
    settings.problem(
      ['SVC_LLM_UPSTREAMS_FILE'],
      `SVC_LLM_UPSTREAMS_FILE (${file}) cannot be read: ${(error as Error).message}`,
    )
  }
  return []
}

/** The upstreams, or a description of the problem. Never repeats what may be a key. */
export function parseUpstreams(text: string): UpstreamConfig[] | string {
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    return 'it is not JSON.'
  }
  const list = (parsed as { upstreams?: unknown } | null)?.upstreams
  if (!Array.isArray(list) || list.length === 0) return 'it has no list "upstreams".'
  const upstreams: UpstreamConfig[] = []
  for (const [index, entry] of list.entries()) {
    const upstream = parseOne(entry)
    if (typeof upstream === 'string') return `upstreams.${index} ${upstream}`
    if (upstreams.some(({ name }) => name === upstream.name)) return `upstreams.${index}.name is not unique.`
    upstreams.push(upstream)
  }
  return upstreams
}

function parseOne(entry: unknown): UpstreamConfig | string {
  if (typeof entry !== 'object' || entry === null) return 'must be an object.'
  const { name, url, shape = 'openai', keys = [], models = ['*'] } = entry as Record<string, unknown>
  if (typeof name !== 'string' || !/^[\w.-]{1,64}$/.test(name)) return 'needs a name of letters, digits, . _ and -.'
  if (typeof url !== 'string' || !/^https?:\/\/[^/]/.test(url) || !URL.canParse(url))
    return 'needs an http or https URL as its url.'
  if (shape !== 'openai' && shape !== 'anthropic') return 'must have the shape openai or anthropic.'
  if (!isListOfTexts(keys)) return 'must have a list of strings as its keys.'
  if (!isListOfTexts(models) || models.length === 0) return 'must have a list of names as its models.'
  return { name, url: url.replace(/\/+$/, ''), shape, keys, models }
}

function isListOfTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string' && each !== '')
}

export function modelOfPattern(pattern: string, model: string): boolean {
  if (!pattern.includes('*')) return pattern === model
  const parts = pattern.split('*').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${parts.join('.*')}$`, 's').test(model)
}
