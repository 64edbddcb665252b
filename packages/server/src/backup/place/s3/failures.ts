/** Explains to the operator why a store, or the way to it, failed. */
import { quote } from '@svc/contract/shell-words'
import { PlaceError } from '../place.ts'
import type { Bucket } from './open-bucket.ts'

/** A reply of the store that is no success. */
export class StoreRefusal extends Error {
  readonly status: number
  /** As `NoSuchBucket`. Empty: the reply names none. */
  readonly code: string
  readonly region: string | null
  /** By the store's clock. */
  readonly date: string | null

  constructor(response: Response, body: string) {
    const code = textOf(body, 'Code') ?? ''
    super(textOf(body, 'Message') ?? `status ${response.status}`)
    this.name = 'StoreRefusal'
    this.status = response.status
    this.code = code
    this.region = response.headers.get('x-amz-bucket-region') ?? textOf(body, 'Region')
    this.date = response.headers.get('date')
  }
}

/** Our keys, ids of uploads and codes contain no markup. */
export function textOf(xml: string, element: string): string | null {
  return new RegExp(`<${element}>([^<]*)</${element}>`).exec(xml)?.[1] ?? null
}

const absentCodes = ['NoSuchKey', 'NoSuchUpload', 'NotFound']

/** A bucket that is absent is a mistake of the settings. */
export function isAbsent(error: unknown): boolean {
  return (
    error instanceof StoreRefusal && error.status === 404 && (error.code === '' || absentCodes.includes(error.code))
  )
}

/** The condition of a request did not hold, or another request was about to change it. */
export function isConditionFailed(error: unknown): boolean {
  return error instanceof StoreRefusal && (error.status === 412 || error.status === 409)
}

/** Reported where a store lacks a feature that svc can do without. */
export function isUnsupported(error: unknown): boolean {
  return (
    error instanceof StoreRefusal && (error.status === 501 || error.code === 'NotImplemented' || error.status === 405)
  )
}

const credentials =
  'Check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, or SVC_BACKUP_S3_CREDENTIALS_FILE.'

export function explained(error: unknown, { address, name, region, url }: Bucket, now: number): PlaceError {
  if (error instanceof PlaceError) return error
  if (!(error instanceof StoreRefusal))
    return new PlaceError(
      `The store at ${url.origin} does not answer: ${reasonOf(error)}. Check SVC_BACKUP_S3_ENDPOINT and the network, and run the command again.`,
      error,
    )
  const why = (text: string) => new PlaceError(text, error)
  switch (error.code || error.status) {
    case 'NoSuchBucket':
      return why(`There is no bucket ${name} at ${url.origin}. Create it, or correct the address ${address}.`)
    case 'InvalidAccessKeyId':
    case 'SignatureDoesNotMatch':
    case 'InvalidToken':
    // versitygw
    case 'XAdminUserNotFound':
    case 'InvalidClientTokenId':
    case 'Unauthorized':
      return why(`The store at ${url.origin} does not accept the credentials (${error.code}). ${credentials}`)
    case 'ExpiredToken':
    case 'TokenRefreshRequired':
      return why(`The credentials for ${address} have expired (${error.code}). Renew them, and run the command again.`)
    case 'AccessDenied':
    case 'AllAccessDisabled':
    case 'Forbidden':
    case 403:
      return why(
        `The credentials may not use ${address}. They need the permissions to list the bucket, and to get, put and delete its objects.`,
      )
    case 'RequestTimeTooSkewed':
      return why(
        `The clock of this machine differs too much from that of the store: ${new Date(now).toISOString()} here, ${error.date === null ? 'another time' : new Date(error.date).toISOString()} there. Set the clock, and run the command again.`,
      )
    case 'PermanentRedirect':
    case 'TemporaryRedirect':
    case 'AuthorizationHeaderMalformed':
    case 'IllegalLocationConstraintException':
    case 301:
      return why(
        `The bucket ${name} is not in the region ${region}. Set SVC_BACKUP_S3_REGION${error.region === null ? ' to its region' : `=${error.region}`}, or SVC_BACKUP_S3_ENDPOINT to its endpoint.`,
      )
    case 'QuotaExceeded':
    case 'XMinioStorageFull':
    case 'InsufficientStorage':
    case 507:
      return why(
        `The store of ${address} is full (${error.code || error.status}). Earlier backups are whole. Free some space, or remove backups (svc self-host backups ${quote(address)} --remove <id>), and run the command again.`,
      )
    default:
      return why(
        `The store of ${address} refused a request: ${error.message.slice(0, 200)} (${error.code || error.status}). Run the command again.`,
      )
  }
}

/** The message of fetch alone often only says that it failed. */
function reasonOf(error: unknown): string {
  const { name = '', message = '', code } = error as { name?: string; message?: string; code?: string }
  if (name === 'TimeoutError') return 'it took too long'
  // Bun writes the code before the message, and after it how to debug it.
  const text = (message.split('. ')[0] ?? '').replace(/^E[A-Z]+: |\.$/g, '')
  return code === undefined || text.includes(code) ? text : `${text} (${code})`
}
