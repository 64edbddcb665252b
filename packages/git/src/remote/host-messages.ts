import { lastMessage } from '../process/git.ts'
import { guarded, type Remote } from '../repository.ts'

export const overLimits = 'The data from the git host needs more time, memory or disk than a fetch may use.'

/** Turns git's message about a host into a sentence for users. Unknown messages pass unchanged. */
const sentences: [RegExp, string][] = [
  [
    /could not read (?:username|password)|authentication failed|returned error: 401/i,
    'The git host requires a credential, or does not accept the given one.',
  ],
  [/returned error: 403/i, 'The git host refuses this credential for the repository.'],
  [/permission denied \(/i, 'The git host does not accept the ssh key.'],
  [
    /returned error: 404|repository '[^\n]*' not found/i,
    'The git host has no repository at this address, or hides it from this credential.',
  ],
  [/could not resolve host/i, 'The name of the git host could not be resolved.'],
  [/connection refused|failed to connect/i, 'The git host refuses connections.'],
  [/timed out|less than \d+ bytes\/sec/i, 'The git host could not be reached in time.'],
  [/index-pack died of signal (?:11|24|25)\b|out of memory/i, overLimits],
  [/redirect/i, 'The git host redirects to another address; use that address instead.'],
  [/dubious ownership/i, "The folder of the repository does not belong to the server's user."],
  [
    /host key verification failed/i,
    'The ssh host key of the git host changed since the credential was set. If the operator of the host confirms the new key, set the credential again.',
  ],
]

/** Paths of this server stay private. */
const placeOfOurs = / \(stored in [^)\n]*\)/g

export function hostMessages(stderr: string, remote: Remote | null): string {
  const sentence = sentences.find(([pattern]) => pattern.test(stderr))?.[1]
  return sentence ?? lastMessage(guarded(remote, stderr).replaceAll(placeOfOurs, ''))
}
