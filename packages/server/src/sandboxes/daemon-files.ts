/** Reads the work tree of a sandbox from its daemon. The daemon is not trusted: the reply is bounded and validated. */
import {
  type ReadFilesBody,
  type ReadFilesReply,
  workTreeEntriesMax,
  workTreeFileBytesMax,
} from '@svc/contract/daemon/work-tree'
import { z } from 'zod'
import { command } from './daemon-client.ts'

/** The daemon gives up before that. */
const filesMs = 25_000
/** A file in base64, or a folder with long names. */
const replyBytesMax = 10 * 1024 * 1024

const git = z.enum(['committed', 'changed', 'new', 'ignored']).nullable()
const size = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER)
/** One character for each byte. */
const bytes = (max: number) =>
  z
    .string()
    .max(max)
    .refine((text) => isBytes(text), 'is not a list of bytes')
const isBytes = (text: string) => !/[^\u0001-\u00ff]/.test(text)
const name = bytes(255).refine((text) => !['', '.', '..'].includes(text) && !text.includes('/'), 'is not a name')
const entry = z.object({
  name,
  kind: z.enum(['file', 'executable', 'directory', 'symlink', 'special']),
  size: size.nullable(),
  git,
})
const content = z.base64().max(Math.ceil(workTreeFileBytesMax / 3) * 4)

const reply: z.ZodType<ReadFilesReply> = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('directory'),
    git,
    entries: z.array(entry).max(workTreeEntriesMax),
    truncated: z.boolean(),
  }),
  z.object({ kind: z.enum(['file', 'executable']), git, size, content_base64: content }),
  z.object({ kind: z.literal('symlink'), git, target: bytes(4096) }),
  z.object({ kind: z.literal('special'), git }),
  z.object({ kind: z.literal('missing'), why: z.enum(['absent', 'link', 'denied', 'git']) }),
])

export const readFilesInSandbox = command<ReadFilesBody, ReadFilesReply>('/svc/files', filesMs, reply, {
  bytesMax: replyBytesMax,
})
