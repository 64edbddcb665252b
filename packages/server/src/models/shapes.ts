/** How the two kinds of model API look: what they ask, how they tell errors and what they count. */
import type { Shape } from './upstreams.ts'

export interface Tokens {
  in: number
  out: number
}

type Json = Record<string, unknown>
const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)
const count = (value: unknown): number =>
  typeof value === 'number' && value > 0 && value < 1e12 ? Math.round(value) : 0
const chars = (value: unknown): number => (typeof value === 'string' ? value.length : 0)

/** What one answer used, put together from its events or its body. */
export class UsageReader {
  readonly #shape: Shape
  #in: number | null = null
  #out: number | null = null
  #chars = 0

  constructor(shape: Shape) {
    this.#shape = shape
  }

  /** `estimated` where the upstream did not say: a stream that was cut, or one that counts nothing. */
  tokens(estimated: { in: number }): Tokens {
    const told = { in: this.#in ?? estimated.in, out: this.#out ?? 0 }
    // The last count may have come before the last words.
    return this.#out === null || this.#isPartial
      ? { ...told, out: Math.max(told.out, Math.ceil(this.#chars / 4)) }
      : told
  }

  #isPartial = true

  read(event: unknown): void {
    if (!isObject(event)) return
    if (this.#shape === 'openai') this.#readOpenAi(event)
    else this.#readAnthropic(event)
  }

  #readOpenAi(event: Json): void {
    if (isObject(event.usage)) {
      this.#in = count(event.usage.prompt_tokens)
      this.#out = count(event.usage.completion_tokens)
      this.#isPartial = false
    }
    for (const choice of Array.isArray(event.choices) ? (event.choices as unknown[]) : []) {
      if (!isObject(choice)) continue
      const said = isObject(choice.delta) ? choice.delta : isObject(choice.message) ? choice.message : {}
      this.#chars += chars(said.content) + chars(said.reasoning_content)
      for (const call of Array.isArray(said.tool_calls) ? (said.tool_calls as unknown[]) : [])
        if (isObject(call) && isObject(call.function)) this.#chars += chars(call.function.arguments)
    }
  }

  #readAnthropic(event: Json): void {
    const usage = isObject(event.message) ? event.message.usage : event.usage
    if (isObject(usage)) {
      const read = ['input_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens']
      const inAll = read.reduce((sum, name) => sum + count(usage[name]), 0)
      // The end of a stream counts only what came out.
      if (inAll > 0 || this.#in === null) this.#in = inAll
      this.#out = count(usage.output_tokens)
      this.#isPartial = event.type === 'message_start'
    }
    if (isObject(event.delta))
      this.#chars += chars(event.delta.text) + chars(event.delta.partial_json) + chars(event.delta.thinking)
  }
}

/** The event that only exists because we asked for the count. */
export function isCountAlone(event: unknown): boolean {
  return isObject(event) && isObject(event.usage) && Array.isArray(event.choices) && event.choices.length === 0
}

export interface Ask {
  model: string
  body: Json
  stream: boolean
  tokensIn: number
  /** The most it may answer, where the request says so. */
  tokensOut: number | null
  /** The client did not ask for the count, so it does not get the event with it. */
  hidesCount: boolean
}

/** Three bytes a token: fewer than most texts have, so that an estimate is rather too high. */
const bytesPerToken = 3

export function readAsk(shape: Shape, sent: Json, bytes: number, defaultModel: string): Ask {
  const model = typeof sent.model !== 'string' || sent.model === 'default' ? defaultModel : sent.model
  const stream = sent.stream === true
  const asked = [sent.max_completion_tokens, sent.max_tokens].map(count).find((max) => max > 0) ?? null
  const options = isObject(sent.stream_options) ? sent.stream_options : {}
  const hidesCount = shape === 'openai' && stream && options.include_usage !== true
  const body = {
    ...sent,
    ...(sent.model === undefined && shape === 'openai' ? {} : { model }),
    ...(hidesCount ? { stream_options: { ...options, include_usage: true } } : {}),
  }
  return { model, body, stream, tokensIn: Math.ceil(bytes / bytesPerToken), tokensOut: asked, hidesCount }
}

/** The same, with no more room for an answer than there is. */
export function withRoomFor(shape: Shape, body: Json, tokensOut: number): Json {
  const name = shape === 'openai' && count(body.max_tokens) === 0 ? 'max_completion_tokens' : 'max_tokens'
  return { ...body, [name]: tokensOut }
}

const anthropicTypes: Record<string, string> = {
  invalid: 'invalid_request_error',
  unauthenticated: 'authentication_error',
  forbidden: 'permission_error',
  not_found: 'not_found_error',
  limit_reached: 'rate_limit_error',
  unavailable: 'overloaded_error',
}

/** A refusal of ours, as the SDKs of that shape read it. Our own fields stay beside it. */
export function errorInShape(shape: Shape, refusal: { error: string; code: string }, errorClass: string): object {
  const { error: message, code } = refusal
  if (shape === 'anthropic')
    return { ...refusal, type: 'error', error: { type: anthropicTypes[errorClass] ?? 'api_error', message, code } }
  return { ...refusal, error: { message, type: code, code } }
}
