/** Writes prompts' attachments to a folder of the daemon: the agent may change a file but not replace it. */
import { chownSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import type { AttachmentBody } from '@svc/contract/daemon/control'

import type { AgentIdentity, DaemonPaths } from '../config.ts'
import { ControlError } from '../http/reply.ts'

/** A repeated delivery writes the file again. */
export function writeAttachment(
  at: { paths: Pick<DaemonPaths, 'attachments'>; identity: AgentIdentity },
  { attachment_id: id, file_name: name, content_base64: content }: AttachmentBody,
): void {
  const folder = join(at.paths.attachments, id)
  const file = join(folder, name)
  try {
    mkdirSync(folder, { recursive: true, mode: 0o755 })
    // The agent may have replaced the file with a link.
    rmSync(file, { force: true })
    writeFileSync(file, Buffer.from(content, 'base64'), { mode: 0o644, flag: 'wx' })
    if (at.identity.uid !== null) chownSync(file, at.identity.uid, at.identity.uid)
  } catch (cause) {
    const isFull = (cause as NodeJS.ErrnoException).code === 'ENOSPC'
    const reason = isFull ? 'the disk of the sandbox is full' : (cause as Error).message
    throw new ControlError(409, 'attachment_not_written', `Couldn't write ${name}: ${reason}.`, { cause })
  }
}
