/** `--attach <file>`: local files sent with a prompt. */
import type { Message } from '@svc/sdk'
import { open, stat } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { refuseAttachments } from '@svc/contract/schemas/attachments'
import { UsageError } from '../errors.ts'
import type { Io } from '../io.ts'

export const attachFlag = {
  kind: 'text',
  summary: 'File to send with the prompt; repeatable',
  value: 'file',
  names: 'file',
  many: true,
} as const

export interface NewAttachment {
  name: string
  content_base64: string
}

/** Checks the sizes first, so that an oversized file is neither read nor sent. */
export async function readAttachments(
  io: Pick<Io, 'cwd'>,
  given: readonly string[],
): Promise<{ attachments?: NewAttachment[] }> {
  if (given.length === 0) return {}
  const files = await Promise.all(given.map((path) => sizeOf(path, resolve(io.cwd, path))))
  const refusal = refuseAttachments(files)
  if (refusal !== null)
    throw new UsageError(refusal.message, {
      hint: 'Nothing was sent. Attach smaller files, or push large files to a branch.',
    })
  return { attachments: await Promise.all(files.map(read)) }
}

interface Found {
  given: string
  path: string
  name: string
  bytes: number
}

async function sizeOf(given: string, path: string): Promise<Found> {
  const found = await stat(path).catch((cause: NodeJS.ErrnoException) => {
    throw unreadable(given, cause)
  })
  if (found.isDirectory())
    throw new UsageError(`--attach ${given} is a folder`, { hint: 'Attach its files, or an archive of it.' })
  // A pipe or a device has no size and may never end.
  if (!found.isFile()) throw new UsageError(`--attach ${given} is not a regular file`)
  return { given, path, name: basename(path), bytes: found.size }
}

async function read({ given, path, name, bytes }: Found): Promise<NewAttachment> {
  try {
    await using file = await open(path)
    // The file may have grown since the check.
    const { buffer, bytesRead } = await file.read(Buffer.alloc(bytes), 0, bytes, 0)
    return { name, content_base64: buffer.subarray(0, bytesRead).toString('base64') }
  } catch (cause) {
    throw unreadable(given, cause as NodeJS.ErrnoException)
  }
}

function unreadable(given: string, cause: NodeJS.ErrnoException): UsageError {
  const reason = cause.code === 'ENOENT' ? 'there is no such file' : cause.message
  return new UsageError(`--attach ${given} can't be read: ${reason}`, { cause })
}

/** The names of the files that a message has. */
export function filesOf(message: Message): string[] {
  return message.parts.flatMap((part) => (part.type === 'file' ? [part.name] : []))
}
