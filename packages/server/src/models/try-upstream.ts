/** One tiny request that shows whether an upstream answers for a model with a key. */
import { ServiceError } from '@svc/contract'
import type { UpstreamConfig } from '../config-models.ts'
import { withholding } from '../redaction/withhold.ts'
import { credential } from './upstream.ts'
import { withheldAnswer } from './upstreams.ts'

const patienceMs = 30_000
const answerBytesMax = 64 * 1024
const reasonCharsMax = 300

interface Trial {
  url: string
  shape: UpstreamConfig['shape']
  key: string | null
  model: string
  signal: AbortSignal
}

/** Throws `unprocessable` with the upstream's own reason. */
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
        // The OpenAI shape has two names for this, and each is refused by some servers.
        ...(shape === 'anthropic' ? { max_tokens: 16 } : {}),
      }),
      signal: AbortSignal.any([trial.signal, AbortSignal.timeout(patienceMs)]),
      redirect: 'manual',
    })
    text = await beginning(response)
  } catch (error) {
    if (trial.signal.aborted) throw error
    throw refusal(`${url} does not answer: ${reasonOf(error)}.`, 'Check the URL, and that this server may reach it.')
  }
  const guard = withholding(trial.key === null ? [] : [trial.key], withheldAnswer)
  if (!response.ok)
    // JSON may write the key's characters by their numbers, so the text is searched again once it is read.
    throw refusal(
      `The model upstream refused a request for ${model} (status ${response.status}): ${guard(reasonIn(guard(text)))}`,
      'Check the URL, the key and the name of the model. Nothing was saved.',
    )
  if (!isAnswer(text, shape))
    throw refusal(
      `${url}${path} answered, but not as a model API does.`,
      'The URL is the base of the API and usually ends in /v1. Nothing was saved.',
    )
}

function refusal(message: string, hint: string): ServiceError {
  return new ServiceError('unprocessable', message, { hint })
}

async function beginning(response: Response): Promise<string> {
  const parts: Uint8Array[] = []
  let size = 0
  for await (const part of response.body ?? []) {
    parts.push(part)
    size += part.length
    if (size > answerBytesMax) break
  }
  return Buffer.concat(parts).toString('utf8')
}

function reasonOf(error: unknown): string {
  const { name, message } = error as Error
  return name === 'TimeoutError'
    ? `there was no answer within ${patienceMs / 1000} seconds`
    : message.replace(/\.$/, '')
}

/** What both APIs put into `error.message`; else the beginning of what came. */
function reasonIn(text: string): string {
  const { error } = (parsed(text) ?? {}) as { error?: { message?: unknown } | string }
  const said = typeof error === 'string' ? error : error?.message
  const reason = (typeof said === 'string' ? said : text).replace(/\s+/g, ' ').trim()
  if (reason === '') return 'it gives no reason.'
  return reason.length <= reasonCharsMax ? reason : `${reason.slice(0, reasonCharsMax)}…`
}

function isAnswer(text: string, shape: Trial['shape']): boolean {
  const body = parsed(text) as { choices?: unknown; content?: unknown } | null
  return Array.isArray(shape === 'anthropic' ? body?.content : body?.choices)
}

function parsed(text: string): object | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' ? value : null
  } catch {
    return null
  }
}
