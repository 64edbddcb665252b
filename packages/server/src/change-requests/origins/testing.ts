import type { MessagePart } from '@svc/contract'
import type { Repository } from '@svc/git'
import type { Db } from '../../db/schema.ts'

export interface Said {
  id: string
  role: 'user' | 'assistant'
  at: number
  until?: number
  parts: MessagePart[]
}

/** Stores a transcript as if the server had followed it. */
export async function storeMessages(db: Db, sessionId: string, messages: Said[]): Promise<void> {
  const rows = messages.map(({ id, role, at, until, parts }) => ({
    ...{ session_id: sessionId, message_id: id, generation: 1, role, error: null },
    ...{ created_at: new Date(at), completed_at: new Date(until ?? at), parts: JSON.stringify(parts) },
  }))
  await db.insertInto('session_messages').values(rows).execute()
}

/** Commits files to a branch with an author and a time; a new branch starts at `main`. */
export async function commitAs(
  { dir }: Pick<Repository, 'dir'>,
  branch: string,
  files: Record<string, string>,
  { name, email, message, at }: { name: string; email: string; message: string; at: number },
): Promise<void> {
  const known = Bun.spawnSync(['git', '-C', dir, 'rev-parse', '--verify', '--quiet', `refs/heads/${branch}`])
  const from = known.exitCode === 0 ? `refs/heads/${branch}^0` : 'refs/heads/main^0'
  const data = (content: string) => `data ${Buffer.byteLength(content)}\n${content}\n`
  const input = [
    `commit refs/heads/${branch}\ncommitter ${name} <${email}> ${Math.floor(at / 1000)} +0000\n`,
    `${data(message)}from ${from}\n`,
    ...Object.entries(files).map(([path, content]) => `M 100644 inline ${path}\n${data(content)}`),
    '\ndone\n',
  ].join('')
  const child = Bun.spawn(['git', '-C', dir, 'fast-import', '--quiet', '--done'], {
    stdin: new Blob([input]),
    stderr: 'pipe',
  })
  if ((await child.exited) !== 0) throw new Error(await new Response(child.stderr).text())
}
