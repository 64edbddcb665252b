import { queryOptions } from '@tanstack/react-query'
import { api, ApiError, reply } from '../../api.ts'
import type { Project } from '../../queries.ts'

const builtInAgents = ['build', 'plan']

/** Those that a session of the project can have. */
export const agents = ({ project_id: projectId, config_dir, default_branch }: Project) =>
  queryOptions({
    queryKey: ['project', projectId, 'agents'],
    queryFn: ({ signal }) =>
      reply(
        api.GET('/v1/projects/{projectId}/tree', {
          params: { path: { projectId }, query: { ref: default_branch, path: `${config_dir}/agents` } },
          signal,
        }),
      ).catch((error: unknown) => {
        // Most projects have no folder of agents.
        if (error instanceof ApiError && error.code === 'not_found') return { entries: [] }
        throw error
      }),
    placeholderData: { entries: [] },
    select: ({ entries }) => {
      const own = entries.flatMap(({ type, name }) =>
        type === 'file' && name.endsWith('.md') ? [name.slice(0, -'.md'.length)] : [],
      )
      return [...new Set([...builtInAgents, ...own])]
    },
  })
