/** The work tree of a sandbox as it is now, read by its daemon. */
import { ServiceError } from '@svc/contract'
import { pathBytes, pathText } from '@svc/git'
import type { Deps } from '../../deps.ts'
import type { DaemonOutcome } from '../../sandboxes/daemon-client.ts'
import { readFilesInSandbox } from '../../sandboxes/daemon-files.ts'
import type { SessionWithSandbox } from '../store.ts'
import type { Found } from './found.ts'

const reasonCharsMax = 500

export async function filesInSandbox(
  deps: Pick<Deps, 'sessions'>,
  { session, path, signal }: { session: SessionWithSandbox; path: string; signal: AbortSignal },
): Promise<Found> {
  const daemon = deps.sessions.daemonOf(session.session_id)
  if (daemon === null) throw booting()
  const outcome = await readFilesInSandbox(daemon, { path: pathBytes(path).toString('latin1') }, signal)
  if (outcome.kind !== 'ok') throw noAnswer(outcome)
  const found = outcome.value
  switch (found.kind) {
    case 'directory':
      return {
        ...found,
        entries: found.entries.map(({ name, kind, size, git }) => ({ name: textOf(name), type: kind, size, git })),
      }
    case 'file':
    case 'executable': {
      const { content_base64: content, ...facts } = found
      return { ...facts, content: Buffer.from(content, 'base64') }
    }
    case 'symlink':
      return { ...found, target: textOf(found.target) }
    case 'special':
    case 'missing':
      return found
    default:
      return found satisfies never
  }
}

const textOf = (bytes: string) => pathText(Buffer.from(bytes, 'latin1'))

export const booting = () =>
  new ServiceError('runtime_booting', 'The sandbox is still starting.', { hint: 'Try again in a few seconds.' })

function noAnswer(outcome: Exclude<DaemonOutcome<unknown>, { kind: 'ok' }>): ServiceError {
  if (outcome.kind === 'refused' && outcome.code === 'runtime_booting') return booting()
  // The route itself: a missing file is an answer.
  if (outcome.kind === 'refused' && outcome.code === 'not_found')
    return new ServiceError('unavailable', 'This sandbox has an earlier version of the service, without this.', {
      hint: 'Restart the session to see its files.',
    })
  return new ServiceError(
    'unavailable',
    `The sandbox did not show its files: ${outcome.reason.slice(0, reasonCharsMax)}`,
    { hint: 'Try again. If it fails again, restart the session.' },
  )
}
