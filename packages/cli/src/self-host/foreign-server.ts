/** A server that `svc self-host start` did not start, or another user's. */
import type { ServerInfo } from '@svc/contract/daemon/owner-socket'
import { Refusal } from '../errors.ts'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { asUser, homeOf, ownerName } from '@svc/contract/folder-owner'
import { quote } from '../arguments/shell-word.ts'
import { knownUsers, programWords } from './launch.ts'
import { keeperOf, programOf } from './running-program.ts'

type Served = Pick<ServerInfo, 'pid' | 'data_dir'>

export interface OtherUser {
  /** As in `another user (ada, 1000)`. */
  name: string
  /** A command of `svc self-host` as that user runs it. */
  command(name: string): string
}

/** Whose server it is. Null: this user's own, or its process has ended. */
export async function otherUserOf({ pid, data_dir: dataDir }: Served): Promise<OtherUser | null> {
  const own = process.getuid?.()
  const found = (await stat(`/proc/${pid}`).catch(withoutProc)) ?? (await stat(dataDir).catch(withoutProc))
  if (own === undefined || found === null || found.uid === own) return null
  // The program of that server is one that its user can run.
  const running = (await programOf(pid))?.command ?? ([] as string[])
  const words = running
    .slice(0, Math.max(0, running.indexOf('server')))
    .map(quote)
    .join(' ')
  const owner = { uid: found.uid, passwd: knownUsers(), program: words || programWords() }
  const usual = join(homeOf(owner) ?? '', '.local/share/svc')
  const program = `${dataDir === usual ? '' : `env SVC_DATA_DIR=${quote(dataDir)} `}${owner.program}`
  return { name: ownerName(owner), command: (name) => asUser({ ...owner, program }, `self-host ${name}`) }
}

/** It has ended, or this system has no /proc. */
function withoutProc(): null {
  return null
}

export async function foreignServer(server: ServerInfo, detail: Record<string, unknown>): Promise<Refusal> {
  const { pid, url } = server
  const other = await otherUserOf(server)
  const keeper = await keeperOf(pid, (await programOf(pid))?.env ?? {})
  const where = {
    systemd: () =>
      `systemd runs it as ${keeper.kind === 'systemd' ? keeper.unit : 'a service'}: stop it with systemctl.`,
    terminal: () => 'It runs in the foreground of a terminal: press Ctrl-C there.',
    unknown: () => (other === null ? 'Stop it there.' : `Stop it as that user: ${other.command('stop')}`),
  }
  return new Refusal(
    'not_available',
    `Process ${pid} serves ${url}. ${other === null ? 'Another program started it' : `It is the server of ${other.name}`}`,
    {
      hint: where[keeper.kind](),
      next: ['svc self-host status'],
      detail: { ...detail, pid },
    },
  )
}
