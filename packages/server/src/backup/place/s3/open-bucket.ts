/** Which bucket an address names, where it is, and the credentials for it. */
import { readFile } from 'node:fs/promises'
import type { Credentials, ObjectStoreSettings } from '../../../config/backups.ts'
import { PlaceError } from '../place.ts'
import { addressParts, refuseAddress } from './address.ts'

export interface Bucket {
  /** `s3://bucket/prefix` */
  address: string
  name: string
  /** Every key begins with it. It is empty or ends with a slash. */
  prefix: string
  /** Where the bucket's keys begin, with a trailing slash. */
  url: URL
  region: string
  credentials: Credentials
}

/** A certificate of `*.s3.amazonaws.com` does not cover a name with a dot. */
const hostPattern = /^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$/

export async function openBucket(address: string, settings: ObjectStoreSettings): Promise<Bucket> {
  const rule = refuseAddress(address)
  if (rule !== null) throw new PlaceError(`The address of the backups ${rule}, but is ${address}.`)
  const { name, prefix } = addressParts(address)
  const { region, endpoint } = settings
  const url = new URL(endpoint ?? `https://s3.${region}.amazonaws.com`)
  const addressing = settings.addressing ?? (endpoint === null && hostPattern.test(name) ? 'host' : 'path')
  const base = url.pathname.replace(/\/*$/, '/')
  if (addressing === 'host') url.host = `${name}.${url.host}`
  url.pathname = addressing === 'host' ? base : `${base}${name}/`
  return {
    ...{ address: `s3://${name}${prefix === '' ? '' : `/${prefix.slice(0, -1)}`}`, name, prefix, url, region },
    credentials: await readCredentials(address, settings),
  }
}

/** The file is read at each use, so that another program can renew credentials that expire. */
export async function readCredentials(address: string, settings: ObjectStoreSettings): Promise<Credentials> {
  const { credentials, credentialsFile: file } = settings
  if (file === null) {
    if (credentials !== null) return credentials
    throw new PlaceError(
      `${address} needs credentials. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or SVC_BACKUP_S3_CREDENTIALS_FILE.`,
    )
  }
  const text = await readFile(file, 'utf8').catch((error: Error) => {
    throw new PlaceError(`The file of SVC_BACKUP_S3_CREDENTIALS_FILE cannot be read: ${error.message}.`, error)
  })
  const read = parseCredentials(text)
  if (read !== null) return read
  throw new PlaceError(
    `The file of SVC_BACKUP_S3_CREDENTIALS_FILE (${file}) needs the lines aws_access_key_id = … and aws_secret_access_key = … below [default].`,
  )
}

/** The format of ~/.aws/credentials. Only its default profile counts. */
export function parseCredentials(text: string): Credentials | null {
  const found = new Map<string, string>()
  let profile = 'default'
  for (const line of text.split('\n').map((each) => each.trim())) {
    profile = /^\[\s*(.*?)\s*\]$/.exec(line)?.[1] ?? profile
    const [, name = '', value = ''] = /^([a-z_]+)\s*=\s*(\S+)$/.exec(line) ?? []
    if (profile === 'default') found.set(name, value)
  }
  const [accessKeyId, secretAccessKey] = [found.get('aws_access_key_id'), found.get('aws_secret_access_key')]
  if (accessKeyId === undefined || secretAccessKey === undefined) return null
  return { accessKeyId, secretAccessKey, sessionToken: found.get('aws_session_token') ?? null }
}
