/** What a connector is sent so that it knows the project, and how none of it comes back to an agent. */
import type { ManifestConnector } from '@svc/contract'
import type { Deps } from '../deps.ts'
import type { ProjectRow } from '../projects/store.ts'
import { openSecrets } from '../secrets/change.ts'
import { makeRedactor, type Redactor } from './redact.ts'

export type Credential =
  | { kind: 'ready'; headers: Record<string, string>; redact: Redactor }
  /** Why it cannot be sent, and what a person does about it. */
  | { kind: 'missing'; error: string; hint: string }

/** A shorter one is guessed, and could not be told from the words of an answer. */
const charsMin = 8

export async function credentialOf(
  deps: Pick<Deps, 'db' | 'keyring' | 'redaction'>,
  project: ProjectRow,
  { auth }: Pick<ManifestConnector, 'auth'>,
): Promise<Credential> {
  const secrets = await openSecrets(deps, project)
  if (auth === null) return { kind: 'ready', headers: {}, redact: makeRedactor([]) }
  if (auth.type === 'oauth')
    return {
      kind: 'missing',
      error: 'It asks for a consent in a browser (oauth), which the gateway cannot give.',
      hint: 'Make a token at the other service, keep it as a secret, and write auth = { type = "bearer", secret_env = "…" }.',
    }
  const name = auth.secret_env ?? ''
  const value = secrets[name]?.trim() ?? ''
  if (value === '')
    return { kind: 'missing', error: `The secret ${name} is not set.`, hint: `svc secrets set ${name}=-` }
  if (value.length < charsMin || !/^[\x20-\x7e]+$/.test(value))
    return {
      kind: 'missing',
      error: `The secret ${name} cannot be a credential: it has fewer than ${charsMin} characters, or some that no header can hold.`,
      hint: `svc secrets set ${name}=-`,
    }
  const headers =
    auth.type === 'bearer' ? { authorization: `Bearer ${value}` } : { [(auth.header ?? '').toLowerCase()]: value }
  return { kind: 'ready', headers, redact: makeRedactor(partsOf(value)) }
}

/**
 * A header's value can be a scheme and a credential, and a Basic one hides a password in base64. Each of these is a whole
 * credential. Single words of a passphrase are not: an agent could guess one after the other.
 */
function partsOf(value: string): string[] {
  const [scheme = '', given = '', ...more] = value.split(/\s+/)
  if (given === '' || more.length > 0) return [value]
  const decoded = /^basic$/i.test(scheme) ? Buffer.from(given, 'base64').toString('utf8') : ''
  const password = decoded.slice(decoded.indexOf(':') + 1)
  return [value, given, decoded, password].filter((part) => part.length >= charsMin)
}
