/** Why a session ended with its sandbox, as people read it. */
import type { Deps } from '../../deps.ts'

const serverStopped = 'The server that ran this sandbox stopped, and the sandbox ended with it.'
const notContinued =
  'The server that ran this sandbox stopped, and the sandbox ended before a server continued it. Its lease (SVC_SANDBOX_LEASE_SECONDS) may be over.'
const whatRemains =
  'Pushed work is on the branch, and `svc sessions recover` restores saved work; later changes are lost. Send a prompt to continue.'
export const endedByOperator = 'It was stopped by `svc self-host stop --sessions`. Send a prompt to continue.'

/** The reason of a sandbox that was gone before a server continued it. */
export function lostReason(driver: Deps['sandboxes']): string {
  return `${driver?.outlives === true ? notContinued : serverStopped} ${whatRemains}`
}

/** The move may be cancelled yet: then the next sandbox starts at the same home. */
export const moveReason = 'The sandbox ended for a move of the project to another server.'

export const cutOffReason =
  "The sandbox was cut off from the service, because the folder of the server's socket was removed, as by a cleanup of temporary files. The session starts again by itself."
