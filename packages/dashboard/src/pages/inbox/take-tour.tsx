/** The tour: a demo project with a first commit, and a session in it that the scripted model runs. */
import { tourFirstCommit, tourProjectName, tourSession } from '@svc/contract/schemas/tour'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { api, ApiError, onlyOnce, reply } from '../../api.ts'
import { restart } from '../../cache/invalidate.ts'
import { Failure } from '../../components/requests.tsx'
import { useWriteRefusal } from '../../components/role.ts'
import { paths } from '../../paths.ts'
import { Button } from '../../ui/form.tsx'
import { me } from '../account/queries.ts'

export function TakeTour() {
  const queries = useQueryClient()
  const navigate = useNavigate()
  const accountId = useQuery(me).data?.account.account_id
  const refusal = useWriteRefusal(accountId ?? '')
  // The same keys for each press: after a failure, the next press goes on where the last one stopped.
  const [keys] = useState(() => ({ project: onlyOnce(), commit: onlyOnce(), session: onlyOnce() }))
  const tour = useMutation({
    mutationFn: () => startTour(accountId, keys),
    // Not awaited: the error shows at once.
    onError: () => void restart(queries, ['projects']),
    // The page of a session needs its project, so the projects are read first.
    onSuccess: async (params) => {
      await restart(queries, ['projects'])
      await navigate({ to: paths.session, params })
    },
  })
  return (
    <section aria-labelledby="take-tour" className="flex flex-col gap-3">
      <div className="flex flex-wrap items-center gap-x-6 gap-y-3 rounded-lg bg-side px-4 py-3">
        <div className="min-w-0 flex-1 basis-72">
          <h2 id="take-tour" className="font-semibold">
            See the whole workflow first
          </h2>
          <p className="text-sm text-dim">
            The tour creates a small project. A scripted model, not an AI, changes a page and opens a change request,
            which you review and merge. It needs no model and costs nothing.
          </p>
        </div>
        <Button disabledReason={refusal} action={tour}>
          {tour.isPending ? 'Starting the tour…' : 'Take the tour'}
        </Button>
      </div>
      {tour.isError && <Failure error={tour.error} />}
    </section>
  )
}

type Keys = Record<'project' | 'commit' | 'session', ReturnType<typeof onlyOnce>>

async function startTour(accountId: string | undefined, keys: Keys) {
  await requireSandboxes()
  const account = accountId === undefined ? {} : { account_id: accountId }
  const project = await reply(
    api.POST('/v1/projects', { params: { header: keys.project }, body: { name: tourProjectName, ...account } }),
  )
  const path = { projectId: project.project_id }
  await reply(
    api.POST('/v1/projects/{projectId}/first-commit', { params: { path, header: keys.commit }, body: tourFirstCommit }),
  )
  const session = await reply(
    api.POST('/v1/projects/{projectId}/sessions', { params: { path, header: keys.session }, body: tourSession }),
  )
  return { project: project.slug, sessionId: session.session_id }
}

/** Before anything is created: a session could not start. */
async function requireSandboxes(): Promise<void> {
  const { sandbox } = await reply(api.GET('/v1/ready'))
  if (sandbox.ready) return
  const next =
    sandbox.install === null ? 'Ask its operator to set up sandboxes.' : `Its operator can run: ${sandbox.install}`
  throw new ApiError(503, {
    error: "This server can't start sandboxes, so no agent can run here.",
    code: 'unavailable',
    hint: [sandbox.problem, next].filter((each) => each !== null).join(' '),
  })
}
