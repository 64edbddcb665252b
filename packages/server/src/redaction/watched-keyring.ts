import { isRecord, parseJson } from '@svc/contract'
import type { Keyring } from '../keyring/keyring.ts'
import type { Redaction } from './redaction.ts'

/** A keyring that registers each opened git credential for redaction. */
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

/** Git tokens are sealed as they are, SSH keys together with their known hosts. */
function secretIn(sealed: string): string {
  const opened = parseJson(sealed)
  return isRecord(opened) && typeof opened.ssh_key === 'string' ? opened.ssh_key : sealed
}
