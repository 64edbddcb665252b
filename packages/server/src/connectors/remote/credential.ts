/** The credential that authenticates a connector, and a redactor that keeps it from agents. */
import type { ManifestConnector } from '@svc/contract'
import type { Deps } from '../../deps.ts'
import type { ProjectRow } from '../../projects/store.ts'
import { openSecrets } from '../../secrets/change.ts'
import { makeRedactor, type Redactor } from './redact.ts'

export type Credential =
  | { kind: 'ready'; headers: Record<string, string>; redact: Redactor }
  /** Why the credential is unusable, and how a user fixes that. */
  | { kind: 'missing'; error: string; hint: string }

/** A shorter one is easy to guess, and redacting it would damage ordinary text. */
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
      error: 'It requires OAuth consent in a browser, which the gateway does not support.',
      hint: 'Create a token at the other service, store it as a secret, and write auth = { type = "bearer", secret_env = "…" }.',
    }
  const name = auth.secret_env ?? ''
  const value = secrets[name]?.trim() ?? ''
  if (value === '')
    return { kind: 'missing', error: `The secret ${name} is not set.`, hint: `svc secrets set ${name}=-` }
  if (value.length < charsMin || !/^[\x20-\x7e]+$/.test(value))
    return {
      kind: 'missing',
      error: `The secret ${name} cannot be a credential: it is shorter than ${charsMin} characters or contains characters that no header allows.`,
      hint: `svc secrets set ${name}=-`,
    }
  const headers =
    auth.type === 'bearer' ? { authorization: `Bearer ${value}` } : { [(auth.header ?? '').toLowerCase()]: value }
  return { kind: 'ready', headers, redact: makeRedactor(partsOf(value)) }
}

/**
 * A header value may be a scheme and a credential, and Basic hides a password in base64. Each part is redacted as a
 * whole. Single words of a passphrase are not, because an agent could then guess them one by one.
 */
function partsOf(value: string): string[] {
  const [scheme = '', given = '', ...more] = value.split(/\s+/)
  if (given === '' || more.length > 0) return [value]
  const decoded = /^basic$/i.test(scheme) ? Buffer.from(given, 'base64').toString('utf8') : ''
  const password = decoded.slice(decoded.indexOf(':') + 1)
  return [value, given, decoded, password].filter((part) => part.length >= charsMin)
}
