/** The two model APIs: their requests, errors and usage counts. */
import type { Shape } from './upstreams/upstreams.ts'

export interface Tokens {
  in: number
  out: number
}

type Json = Record<string, unknown>
const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)
const count = (value: unknown): number =>
  typeof value === 'number' && value > 0 && value < 1e12 ? Math.round(value) : 0
const chars = (value: unknown): number => (typeof value === 'string' ? value.length : 0)

/** Adds up the usage of one response from its events or body. */
export class UsageReader {
  readonly #shape: Shape
  #in: number | null = null
  #out: number | null = null
  #chars = 0

  constructor(shape: Shape) {
    this.#shape = shape
  }

  /** `estimated` applies if the upstream reported no usage, as in an interrupted stream. */
  tokens(estimated: { in: number }): Tokens {
    const counted = { in: this.#in ?? estimated.in, out: this.#out ?? 0 }
    // The last count may precede the last text.
    return this.#out === null || this.#isPartial
      ? { ...counted, out: Math.max(counted.out, Math.ceil(this.#chars / 4)) }
      : counted
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
      const message = isObject(choice.delta) ? choice.delta : isObject(choice.message) ? choice.message : {}
      this.#chars += chars(message.content) + chars(message.reasoning_content)
      for (const call of Array.isArray(message.tool_calls) ? (message.tool_calls as unknown[]) : [])
        if (isObject(call) && isObject(call.function)) this.#chars += chars(call.function.arguments)
    }
  }

  #readAnthropic(event: Json): void {
    const usage = isObject(event.message) ? event.message.usage : event.usage
    if (isObject(usage)) {
      const read = ['input_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens']
      const inAll = read.reduce((sum, name) => sum + count(usage[name]), 0)
      // The end of a stream counts only output tokens.
      if (inAll > 0 || this.#in === null) this.#in = inAll
      this.#out = count(usage.output_tokens)
      this.#isPartial = event.type === 'message_start'
    }
    if (isObject(event.delta))
      this.#chars += chars(event.delta.text) + chars(event.delta.partial_json) + chars(event.delta.thinking)
  }
}

/** The event that only exists because the gateway requested the usage. */
export function isUsageOnly(event: unknown): boolean {
  return isObject(event) && isObject(event.usage) && Array.isArray(event.choices) && event.choices.length === 0
}

export interface ModelRequest {
  model: string
  body: Json
  stream: boolean
  tokensIn: number
  /** The output limit of the request, if any. */
  tokensOut: number | null
  /** The client did not request usage, so its event is dropped. */
  hidesCount: boolean
}

/** Fewer bytes than a token usually has, so the estimate is rather too high. */
const bytesPerToken = 3

export function readRequest(shape: Shape, sent: Json, bytes: number, defaultModel: string): ModelRequest {
  const model = typeof sent.model !== 'string' || sent.model === 'default' ? defaultModel : sent.model
  const stream = sent.stream === true
  const tokensOut = [sent.max_completion_tokens, sent.max_tokens].map(count).find((max) => max > 0) ?? null
  const options = isObject(sent.stream_options) ? sent.stream_options : {}
  const hidesCount = shape === 'openai' && stream && options.include_usage !== true
  const body = {
    ...sent,
    ...(sent.model === undefined && shape === 'openai' ? {} : { model }),
    ...(hidesCount ? { stream_options: { ...options, include_usage: true } } : {}),
  }
  return { model, body, stream, tokensIn: Math.ceil(bytes / bytesPerToken), tokensOut, hidesCount }
}

export function withOutputLimit(shape: Shape, body: Json, tokensOut: number): Json {
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

/** An error of the service in the format of that API's SDKs, with the service's own fields beside it. */
export function errorInShape(shape: Shape, refusal: { error: string; code: string }, errorClass: string): object {
  const { error: message, code } = refusal
  if (shape === 'anthropic')
    return { ...refusal, type: 'error', error: { type: anthropicTypes[errorClass] ?? 'api_error', message, code } }
  return { ...refusal, error: { message, type: code, code } }
}
