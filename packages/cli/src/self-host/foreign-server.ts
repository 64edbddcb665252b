/** A server that `svc self-host start` did not start, or another user's. */
import { ownerSocketName, type ServerInfo } from '@svc/contract/daemon/owner-socket'
import { Refusal } from '../errors.ts'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { asUser, homeOf, ownerName } from '@svc/contract/folder-owner'
import { quote } from '../arguments/shell-word.ts'
import { knownUsers, programWords } from './launch.ts'
import { isHere, keeperOf, programOf } from './running-program.ts'

type Served = Pick<ServerInfo, 'pid' | 'data_dir'>

export interface OtherUser {
  /** As in `another user (ada, 1000)`. */
  name: string
  /** A command of `svc self-host` as that user runs it. */
  command(name: string): string
}

/** Whose server it is. Null: this user's own. */
export async function otherUserOf(server: Served): Promise<OtherUser | 'container' | null> {
  if (!(await isHere(server))) return 'container'
  const { pid, data_dir: dataDir } = server
  const own = process.getuid?.()
  const found = await stat(join(dataDir, ownerSocketName)).catch(hasEnded)
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

/** It removes its socket. */
function hasEnded(): null {
  return null
}

export async function foreignServer(server: ServerInfo, detail: Record<string, unknown>): Promise<Refusal> {
  const { pid, url } = server
  const other = await otherUserOf(server)
  return new Refusal('not_available', `Process ${pid} serves ${url}. ${whoseText(other)}`, {
    hint: other === 'container' ? 'Stop it there, or stop the container.' : await howToStop(pid, other),
    next: ['svc self-host status'],
    detail: { ...detail, pid },
  })
}

/** A sentence without its end. */
export function whoseText(other: OtherUser | 'container' | null): string {
  if (other === 'container') return 'It runs in another container of this machine'
  return other === null ? 'Another program started it' : `It is the server of ${other.name}`
}

async function howToStop(pid: number, other: OtherUser | null): Promise<string> {
  const keeper = await keeperOf(pid, (await programOf(pid))?.env ?? {})
  switch (keeper.kind) {
    case 'systemd':
      return `systemd runs it as ${keeper.unit}: stop it with systemctl.`
    case 'terminal':
      return 'It runs in the foreground of a terminal: press Ctrl-C there.'
    case 'unknown':
      return other === null ? 'Stop it there.' : `Stop it as that user: ${other.command('stop')}`
    default:
      return keeper satisfies never
  }
}
