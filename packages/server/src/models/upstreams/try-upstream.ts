/** Sends one minimal request to check an upstream, model and key. */
import { parseJson, ServiceError } from '@svc/contract'
import type { UpstreamConfig } from '../../config/models.ts'
import { withholding } from '../../redaction/withhold.ts'
import { credential } from './call.ts'
import { withheldAnswer } from './upstreams.ts'

const timeoutMs = 30_000
const answerBytesMax = 64 * 1024
const reasonCharsMax = 300

interface Trial {
  url: string
  shape: UpstreamConfig['shape']
  key: string | null
  model: string
  signal: AbortSignal
}

/** Throws `unprocessable` with the upstream's reason. */
export async function tryUpstream(trial: Trial): Promise<void> {
  const { url, shape, model } = trial
  const path = shape === 'anthropic' ? '/messages' : '/chat/completions'
  let response: Response
  let text: string
  try {
    response = await fetch(url + path, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json',
        ...(shape === 'anthropic' ? { 'anthropic-version': '2023-06-01' } : {}),
        ...credential({ shape }, trial.key),
      },
      body: JSON.stringify({
        model,
        messages: [{ role: 'user', content: 'Answer with the one word ok.' }],
        // The OpenAI API has two names for this limit, and some servers reject one or the other.
        ...(shape === 'anthropic' ? { max_tokens: 16 } : {}),
      }),
      signal: AbortSignal.any([trial.signal, AbortSignal.timeout(timeoutMs)]),
      redirect: 'manual',
    })
    text = await startOfBody(response)
  } catch (error) {
    if (trial.signal.aborted) throw error
    throw refusal(
      `${url} is unavailable: ${reasonOf(error)}.`,
      'Check the URL, and that this server can reach it. Nothing was saved.',
    )
  }
  const guard = withholding(trial.key === null ? [] : [trial.key], withheldAnswer)
  if (!response.ok)
    // JSON may escape characters of the key, so check the parsed text again.
    throw refusal(
      `The model upstream rejected a request for ${model} (status ${response.status}): ${guard(reasonIn(guard(text)))}`,
      'Check the URL, the key and the model name. Nothing was saved.',
    )
  if (!isAnswer(text, shape))
    throw refusal(
      `${url}${path} did not respond like a model API.`,
      'Enter the base URL of the API, which usually ends in /v1. Nothing was saved.',
    )
}

function refusal(message: string, hint: string): ServiceError {
  return new ServiceError('unprocessable', message, { hint })
}

async function startOfBody(response: Response): Promise<string> {
  const parts: Uint8Array[] = []
  let size = 0
  for await (const part of response.body ?? []) {
    parts.push(part)
    size += part.length
    if (size > answerBytesMax) break
  }
  return Buffer.concat(parts).toString('utf8')
}

/** The runtime's words for these ask a person about their computer. */
const reasons: Record<string, string> = {
  ECONNREFUSED: 'nothing listens at that address',
  ENOTFOUND: 'its host name has no address',
  ECONNRESET: 'it closed the connection',
  EPROTO: 'it does not speak TLS at that port',
  EHOSTUNREACH: 'there is no route to that address',
}

function reasonOf(error: unknown): string {
  const { name, message, code = '' } = error as NodeJS.ErrnoException
  if (name === 'TimeoutError') return `no response within ${timeoutMs / 1000} seconds`
  return reasons[code] ?? message.replace(/[.?!]+$/, '')
}

/** `error.message` of either API, otherwise the start of the body. */
function reasonIn(text: string): string {
  const { error } = (parseJson(text) ?? {}) as { error?: { message?: unknown } | string }
  const given = typeof error === 'string' ? error : error?.message
  const reason = (typeof given === 'string' ? given : text).replace(/\s+/g, ' ').trim()
  if (reason === '') return 'no reason given.'
  return reason.length <= reasonCharsMax ? reason : `${reason.slice(0, reasonCharsMax)}…`
}

function isAnswer(text: string, shape: Trial['shape']): boolean {
  const body = parseJson(text) as { choices?: unknown; content?: unknown } | null | undefined
  return Array.isArray(shape === 'anthropic' ? body?.content : body?.choices)
}
