import { attachmentsRefused, type NewAttachment, refuseAttachments, ServiceError, sizeText } from '@svc/contract'
import type { DbOrTransaction } from '../../db/schema.ts'
import type { Deps } from '../../deps.ts'
import { invalid } from '../../http/validation.ts'
import { requireSessionStorage } from '../storage-quota.ts'
import { quotasOf } from '../../projects/quotas.ts'
import type { ProjectRow } from '../../projects/store.ts'
import { contentTypeOf } from './content-type.ts'
import { attachmentBytesOf, type StoredAttachment } from './store.ts'

const nameCharsMax = 200

/** Checks the sizes before it decodes anything, so that a refused request costs little. */
export function readAttachments(deps: Pick<Deps, 'newId'>, given: readonly NewAttachment[]): StoredAttachment[] {
  const files = given.map(({ name, content_base64 }) => ({ name: plainName(name), bytes: bytesOf(content_base64) }))
  const refusal = refuseAttachments(files)
  if (refusal !== null) throw attachmentsRefused(refusal)
  const contents = given.map(({ content_base64 }, index) => decode(content_base64, index))
  const taken = new Map<string, number>()
  return files.map(({ name, bytes }, index) => {
    const content = contents[index]!
    return {
      attachment_id: deps.newId(),
      name: distinct(name, taken),
      bytes,
      content,
      content_type: contentTypeOf(content),
    }
  })
}

/** A check before anything is written. `requireAttachmentQuotaOfSession` repeats it in the transaction. */
export async function requireAttachmentQuota(
  deps: Pick<Deps, 'db' | 'config'>,
  project: ProjectRow,
  sessionId: string,
  attachments: readonly StoredAttachment[],
): Promise<void> {
  if (attachments.length === 0) return
  await requireSessionStorage(deps, project)
  await requireAttachmentQuotaOfSession(deps, deps.db, project, { sessionId, attachments })
}

/** The attachments of a session may use as much as its transcript. Exact in a transaction that holds the lock of the session. */
export async function requireAttachmentQuotaOfSession(
  deps: Pick<Deps, 'config'>,
  db: DbOrTransaction,
  project: ProjectRow,
  { sessionId, attachments }: { sessionId: string; attachments: readonly StoredAttachment[] },
): Promise<void> {
  const used = await attachmentBytesOf(db, sessionId)
  const { transcriptBytes: limit } = quotasOf(deps.config, project)
  if (used + attachments.reduce((sum, { bytes }) => sum + bytes, 0) <= limit) return
  throw new ServiceError(
    'quota_exceeded',
    `The attachments of this session use ${sizeText(used)} of ${sizeText(limit)}, so these do not fit.`,
    {
      hint: 'The prompt was not sent. Start another session, or push the files to a branch.',
      detail: { used_bytes: used, limit_bytes: limit },
    },
  )
}

const unpadded = (base64: string) => base64.replace(/={1,2}$/, '')
const bytesOf = (base64: string) => Math.floor((unpadded(base64).length * 3) / 4)

function decode(base64: string, index: number): Buffer {
  const content = Buffer.from(base64, 'base64')
  if (!isBase64(unpadded(base64)) || content.length !== bytesOf(base64))
    throw invalid(`The content of attachment ${index + 1} is not base64.`, [
      { path: `attachments.${index}.content_base64`, message: 'is not base64' },
    ])
  return content
}

/** The decoder skips invalid characters, which would result in another file. */
function isBase64(text: string): boolean {
  return !/[^A-Za-z0-9+/]/.test(text) && text.length % 4 !== 1
}

/** Removes folders, control characters and characters that change the direction of text. */
function plainName(name: string): string {
  const last = name.split(/[\\/]/).at(-1)!
  const plain = last
    .normalize('NFC')
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}]/gu, '')
    .trim()
  if (plain === '' || /^\.+$/.test(plain)) return 'file'
  if (plain.length <= nameCharsMax) return plain
  const [extension = ''] = /\.[^.]{1,15}$/.exec(plain) ?? []
  return `${plain.slice(0, nameCharsMax - extension.length)}${extension}`.toWellFormed()
}

function distinct(name: string, taken: Map<string, number>): string {
  const [extension = ''] = /(?<!^)\.[^.]{1,15}$/.exec(name) ?? []
  const stem = name.slice(0, name.length - extension.length)
  let free = name
  let count = taken.get(name) ?? 1
  while (taken.has(free)) free = `${stem} (${++count})${extension}`
  taken.set(name, count)
  if (free !== name) taken.set(free, 1)
  return free
}
