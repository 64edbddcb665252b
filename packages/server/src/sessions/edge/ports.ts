/** The ports of a session that a preview can show. */
import { listeningPortsMax, type PortsReply, reservedPorts } from '@svc/contract/daemon/control'
import { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { command } from '../../sandboxes/daemon-client.ts'
import { canFrame } from '../../sandboxes/framing.ts'
import type { SessionWithSandbox } from '../store.ts'

const portsMs = 5_000

const reply: z.ZodType<PortsReply> = z.object({
  ports: z.array(z.number().int().min(1).max(65_535)).max(listeningPortsMax),
})

const readPorts = command<Record<string, never>, PortsReply>('/svc/ports', portsMs, reply)

/** `ports` is null where the daemon does not say: it is of an earlier version, or does not answer. */
export async function listPorts(
  deps: Pick<Deps, 'config' | 'sessions'>,
  { session, signal }: { session: SessionWithSandbox; signal: AbortSignal },
): Promise<{ ports: { port: number }[] | null; can_frame: boolean }> {
  const can_frame = canFrame(deps.config)
  const daemon = deps.sessions.daemonOf(session.session_id)
  if (daemon === null) return { ports: [], can_frame }
  const outcome = await readPorts(daemon, {}, signal)
  if (outcome.kind !== 'ok') return { ports: null, can_frame }
  const open = outcome.value.ports.filter((port) => !reservedPorts.includes(port))
  return { ports: open.map((port) => ({ port })), can_frame }
}
