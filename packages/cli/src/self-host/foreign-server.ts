/** The refusal to act on a server that `svc self-host start` did not start. */
import type { ServerInfo } from '@svc/contract/daemon/owner-socket'
import { Refusal } from '../errors.ts'
import { keeperOf, programOf } from './running-program.ts'

export async function foreignServer({ pid, url }: ServerInfo, detail: Record<string, unknown>): Promise<Refusal> {
  const keeper = await keeperOf(pid, (await programOf(pid))?.env ?? {})
  const where = {
    systemd: () =>
      `systemd runs it as ${keeper.kind === 'systemd' ? keeper.unit : 'a service'}: stop it with systemctl.`,
    terminal: () => 'It runs in the foreground of a terminal: press Ctrl-C there.',
    unknown: () => 'Stop it there.',
  }
  return new Refusal('not_available', `Process ${pid} serves ${url}. Another program started it`, {
    hint: where[keeper.kind](),
    next: ['svc self-host status'],
    detail: { ...detail, pid },
  })
}
