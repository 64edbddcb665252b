/** Projects whose homes are spread over the servers, with change requests to read and to merge. */
import { fill } from '../git/repositories.ts'
import type { Fleet, FleetServer } from './servers.ts'

export interface FleetProject {
  id: string
  home: FleetServer
  /** Paths of open change requests: three-way merges without a conflict, each onto a branch of its own. */
  open: string[]
}

/** Equally many on each server, as a new project gets the server with the fewest as its home. */
export async function makeProjects(
  fleet: Fleet,
  { count, changeRequests }: { count: number; changeRequests: number },
): Promise<FleetProject[]> {
  const first = fleet.servers[0]!
  const projects: FleetProject[] = []
  for (let n = 0; n < count; n++) {
    const { project_id: id } = await first.send<{ project_id: string }>('POST', '/v1/projects', {
      name: `project-${n}`,
    })
    const [row] = await fleet.rows<{ home: string }>('select home from projects where project_id = $1', [id])
    // A server that runs alone is the home of everything without being named.
    const home = fleet.servers.find((server) => server.name === row!.home) ?? first
    const { pairs } = await fill({ dir: home.repository(id), remote: null }, { commits: 10, pairs: changeRequests })
    const path = `/v1/projects/${id}/change-requests`
    const open: string[] = []
    for (const { base, head } of pairs) {
      const body = { title: head, head_ref: head, base_ref: base }
      open.push(`${path}/${(await home.send<{ cr_id: string }>('POST', path, body)).cr_id}`)
    }
    projects.push({ id, home, open })
  }
  return projects
}
