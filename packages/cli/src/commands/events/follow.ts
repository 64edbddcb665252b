import type { Context } from '../../context.ts'
import { Refusal } from '../../errors.ts'
import { endlessEvents } from '../../event-stream.ts'
import type { ProjectEvent } from '../../api-types.ts'
import type { ProjectClient } from '../../requests.ts'

/** The server no longer has the events after `id`, or the id belongs to another project. */
interface Reset {
  type: 'reset'
  id: number
}

export async function* follow(
  { io, out }: Context,
  project: ProjectClient,
  after: number | null,
): AsyncGenerator<ProjectEvent | Reset> {
  const { signal } = io
  const told = endlessEvents(
    { io, out },
    {
      of: 'the project',
      after: after === null ? null : String(after),
      signal,
      open: (headers) => project.stream('/events', { headers, signal }),
    },
  )
  let hasBegun = false
  for await (const { event, data } of told) {
    if (!hasBegun) out.note('Following. Ctrl-C ends it.')
    hasBegun = true
    if (event !== 'ready') yield parse(data)
  }
}

function parse(data: string): ProjectEvent | Reset {
  try {
    return JSON.parse(data) as ProjectEvent | Reset
  } catch (error) {
    throw new Refusal('bad_answer', 'An event of the project is not JSON', { cause: error })
  }
}
