/** Clients that cause events: they open, rename, close, reopen and merge change requests, and keep each acknowledgment. */
import type { ChangeRequest } from '@svc/contract'
import type { TortureProject, World } from '../world.ts'

export interface Act {
  type: string
  crId: string
  /** For `updated`: the new title. */
  title?: string
}

export async function act(
  world: World,
  project: TortureProject,
  options: { random: () => number; acts: Act[]; enough: AbortSignal },
): Promise<void> {
  const { random, acts, enough } = options
  const base = `/v1/projects/${project.id}/change-requests`
  while (!enough.aborted)
    for (const { branch, head } of await world.makeChanges(project, 4)) {
      if (enough.aborted) return
      const ask = async (method: string, path: string, body: object | null, name: string) => {
        const reply = await world.insist<ChangeRequest>(method, `${base}${path}`, body, `${branch}-${name}`)
        if (reply.status >= 300) throw new Error(`${name} of ${branch}: ${reply.status} ${JSON.stringify(reply.body)}`)
        return reply.body
      }
      // These operations take no key. A repetition after a server died reports the state as already reached.
      const move = async (crId: string, verb: string, wanted: string) => {
        const reply = await world.insist<{ status?: string }>(
          'POST',
          `${base}/${crId}/${verb}`,
          null,
          `${branch}-${verb}`,
        )
        if (reply.status >= 300 && reply.body.status !== wanted)
          throw new Error(`${verb} of ${branch}: ${reply.status} ${JSON.stringify(reply.body)}`)
      }
      const { cr_id: crId } = await ask('POST', '', { title: `Work of ${branch}`, head_ref: branch }, 'open')
      acts.push({ type: 'change_request.opened', crId })
      for (let n = 0; n < 1 + Math.floor(random() * 3); n++) {
        const title = `${branch}, ${n + 1} times renamed`
        await ask('PATCH', `/${crId}`, { title }, `rename-${n}`)
        acts.push({ type: 'change_request.updated', crId, title })
      }
      if (random() < 0.4) {
        await move(crId, 'close', 'closed')
        acts.push({ type: 'change_request.closed', crId })
        await move(crId, 'reopen', 'open')
        acts.push({ type: 'change_request.reopened', crId })
      }
      if (random() < 0.5) {
        await ask('POST', `/${crId}/merge`, { expected_head_sha: head }, 'merge')
        acts.push({ type: 'change_request.merged', crId })
      }
    }
}
