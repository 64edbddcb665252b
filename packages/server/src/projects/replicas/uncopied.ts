/** Why a change of a project is refused: no other server takes its copy at this moment. */
import { ServiceError } from '@svc/contract'

/** No server takes the copy at this moment. */
export class Uncopied extends Error {}

export const beingMade = 'It is being made.'

/** `row`: the copy that the project has. */
export function notAnswering({ server_name: name }: { server_name: string }, row: { server: string } | null): string {
  return row?.server === name ? `The server with its copy, ${name}, does not answer.` : `${name} does not answer.`
}

const namedMax = 5

/** Names the servers that the copy waits for. */
export function noneRuns(servers: { server_name: string; last_seen: string | null }[]): Uncopied {
  const named = servers.slice(0, namedMax)
  const seen = named.map(({ server_name, last_seen }) =>
    last_seen === null ? `${server_name} never ran` : `${server_name} was last seen at ${last_seen}`,
  )
  const mend =
    named.length === 1
      ? `Start it, or if it is gone for good: svc self-host take-over ${named[0]!.server_name}`
      : 'Start one of them, or take over those that are gone for good: svc self-host take-over <name>'
  return new Uncopied(`No other server that keeps copies is running: ${seen.join(', ')}. ${mend}`)
}

/** The start of a session shows this. `reason` is that of an `Uncopied` or a `PeerFailure`. */
export function waitsForCopy(reason: string): string {
  return `Waits for the copy of this project on another server. ${reason} Operators: svc self-host copies.`
}

export function noCopy(cause: Error): ServiceError {
  return new ServiceError(
    'unavailable',
    `Nothing was acknowledged: the copy of this project on another server could not be written. ${cause.message}`,
    {
      hint: 'Try again in a moment. If it fails for minutes, ask the operator of this service.',
      detail: { retry_after_seconds: 5 },
      cause,
    },
  )
}
