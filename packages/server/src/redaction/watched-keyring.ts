import type { Keyring } from '../keyring/keyring.ts'
import type { Redaction } from './redaction.ts'

/** A keyring that tells what it opens: the credential of a git host is looked for in that host's words, and everywhere else. */
export function watchedKeyring(keyring: Keyring, redaction: Redaction): Keyring {
  return {
    get rootKeyId() {
      return keyring.rootKeyId
    },
    newDataKey: (projectId) => keyring.newDataKey(projectId),
    seal: (input) => keyring.seal(input),
    derive: (label) => keyring.derive(label),
    open(input) {
      const value = keyring.open(input)
      if (input.aad[0] === 'git_token') redaction.learnCredential(input.projectId, secretIn(value))
      return value
    },
  }
}

/** A token is sealed as it is, a key together with the hosts it may be shown to. */
function secretIn(sealed: string): string {
  try {
    const { ssh_key: key } = JSON.parse(sealed) as { ssh_key?: unknown }
    return typeof key === 'string' ? key : sealed
  } catch {
    return sealed
  }
}
