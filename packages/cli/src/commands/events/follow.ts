/** The feed of a project as it grows. */
import type { ApiClient } from '@svc/contract/api'
import { ServiceError } from '@svc/contract/errors'
import { replyStream } from '../../api.ts'
import type { Context } from '../../context.ts'
import { Refusal } from '../../errors.ts'
import { streamedEvents } from '../../event-stream.ts'
import type { ProjectEvent } from '../../wire.ts'

/** About three minutes: as long as a server that is replaced may take. */
const failuresMax = 20
const pauseMs = 500
const pauseMsMax = 10_000

/** What came before `id + 1` is forgotten, or the id to begin after is none of this project. */
interface Reset {
  type: 'reset'
  id: number
}

/** Goes on for ever: a stream that ends or is cut is asked for again, after the last event it told. */
export async function* follow(
  { io, out }: Context,
  api: ApiClient,
  { projectId, after }: { projectId: string; after: number | null },
): AsyncGenerator<ProjectEvent | Reset> {
  let lastId = after === null ? null : String(after)
  let hasBegun = false
  let failures = 0
  for (;;) {
    try {
      const stream = await replyStream(
        api.GET('/v1/projects/{projectId}/events', {
          params: { path: { projectId } },
          headers: { Accept: 'text/event-stream', ...(lastId === null ? {} : { 'Last-Event-ID': lastId }) },
          parseAs: 'stream',
          signal: io.signal,
        }),
      )
      for await (const { event, data, id } of streamedEvents(stream, 'the project')) {
        if (!hasBegun) out.note('Following. Ctrl-C ends it.')
        hasBegun = true
        failures = 0
        lastId = id ?? lastId
        if (event !== 'ready') yield parse(data)
      }
    } catch (error) {
      if (io.signal.aborted || !hasBegun || !isPassing(error) || ++failures > failuresMax) throw error
      out.passing('The connection broke; trying again…')
    }
    // A server ends every stream after a while, so its end is no failure.
    await io.sleep(Math.min(pauseMsMax, pauseMs * 2 ** Math.max(0, failures - 1)))
  }
}

/** A refusal stays one; what breaks under way, or a server that is away, does not. */
function isPassing(error: unknown): boolean {
  if (error instanceof ServiceError) return error.code === 'unavailable' || error.code === 'internal'
  return !(error instanceof Refusal) || error.code === 'unreachable' || error.code === 'timed_out'
}

function parse(data: string): ProjectEvent | Reset {
  try {
    return JSON.parse(data) as ProjectEvent | Reset
  } catch (error) {
    throw new Refusal('bad_answer', 'An event of the project is not JSON', { cause: error })
  }
}
