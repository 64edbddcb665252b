/** After the last round: what was acknowledged is there, once, and nothing else is left. */
import { readlinkSync } from 'node:fs'
import { withClient } from '../../../packages/server/src/db/testing-cluster.ts'
import { tryGitIn } from '../repositories.ts'
import { leaksInDatabase, leaksOnMachine, processes } from '../sandbox-leaks.ts'
import { judgeSession } from './judge-session.ts'
import type { Run } from './run.ts'

export async function judgeEnd(run: Run): Promise<void> {
  const { fleet, ledger, problems } = run
  for (const session of ledger.sessions) await judgeSession(run, session)
  for (const { project, branch, sha } of ledger.pushes) {
    const tip = await tryGitIn(project.dir, ['rev-parse', '--verify', `refs/heads/${branch}`])
    if (tip.stdout.trim() !== sha) problems.push(`the push of ${branch} is lost: ${tip.stdout}${tip.stderr}`)
  }
  await judgeFirings(run)
  problems.push(...(await leaksInDatabase(fleet.database.url)))
}

async function judgeFirings({ fleet, ledger, problems }: Run): Promise<void> {
  const { rows } = await withClient(fleet.database.url, (client) =>
    client.query<{ session: string; status: string; n: string }>(
      'select planned_session_id as session, min(status::text) as status, count(*) as n from trigger_slots group by 1',
    ),
  )
  const slots = new Map(rows.map((row) => [row.session, row]))
  for (const { sessionId } of ledger.fired) {
    const slot = slots.get(sessionId)
    if (slot === undefined) problems.push(`no slot started ${sessionId}`)
    else if (slot.status !== 'fired' || slot.n !== '1') problems.push(`${sessionId}: ${slot.n} slots, ${slot.status}`)
  }
  const extra = rows.length - new Set(ledger.fired.map(({ sessionId }) => sessionId)).size
  if (extra > 0) problems.push(`the trigger fired ${extra} times more often than it was asked to`)
}

/** Ends the servers with their sandboxes. */
export async function judgeLeftovers({ fleet, seen, problems }: Run): Promise<void> {
  for (const { server } of fleet.servers) await server.stopWithSessions()
  problems.push(...(await fleet.sandboxes.leftovers(fleet)))
  const networks = fleet.network.hosts.flatMap(({ namespace }) => namespace ?? [])
  for (const { name, server } of fleet.servers)
    problems.push(...leaksOnMachine(server.dataDir, seen).map((what) => `${name}: ${what}`))
  for (const { pid, command } of processes())
    if (networks.includes(networkOf(pid)) && !command.startsWith('sleep infinity'))
      problems.push(`process ${pid} is left of a server: ${command}`)
}

function networkOf(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/ns/net`)
  } catch {
    // It ended meanwhile.
    return ''
  }
}
