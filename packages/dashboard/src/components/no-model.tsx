import { scriptedModelName } from '@svc/contract/schemas/model-names'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { paths } from '../paths.ts'
import { session } from '../pages/sessions/queries.ts'
import { models, modelUpstream } from '../pages/settings/queries.ts'
import { buttonClass } from '../ui/form.tsx'
import { Notice } from '../ui/layout.tsx'

const noModel = "This server has no model, so agents can't work. An owner of this server can set one."

const useLacksModel = () => useQuery(models).data?.length === 0

/** Why a session with this model can take no prompt, or null. */
export function useModelRefusal(model: string | null): string | null {
  return useLacksModel() && model !== scriptedModelName ? noModel : null
}

/** The same for a session whose model the page does not know. Null also where there is no session. */
export function useAgentRefusal(projectId: string, sessionId: string | null): string | null {
  const lacksModel = useLacksModel()
  const { data } = useQuery({ ...session(projectId, sessionId ?? ''), enabled: lacksModel && sessionId !== null })
  return lacksModel && data !== undefined && data.model !== scriptedModelName ? noModel : null
}

/** Beside a button that starts a session, whose agent or `svc.toml` may choose the scripted model. */
export function NoModelNote() {
  return useLacksModel() ? <span className="text-warn">{noModel}</span> : null
}

/** A warning on pages that start agents, while the server has no model. */
export function NoModel() {
  const { data } = useQuery(models)
  return data?.length === 0 ? <Missing /> : null
}

function Missing() {
  // Only an owner of the instance can read it.
  const { isSuccess: isOwner, isError } = useQuery(modelUpstream)
  return (
    <Notice
      tone="warn"
      title="No model is configured"
      action={
        isOwner && (
          <Link to={paths.modelSettings} className={buttonClass('primary')}>
            Set a model
          </Link>
        )
      }
    >
      Agents can't work until this server has a model.
      {isError && ' Ask an owner of this server to set one.'}
    </Notice>
  )
}
