import { scriptedModelName } from '@svc/contract/schemas/model-names'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ApiError } from '../api.ts'
import { paths } from '../paths.ts'
import { session } from '../pages/sessions/queries.ts'
import { models, modelUpstream } from '../pages/settings/queries.ts'
import { buttonClass, type ButtonKind } from '../ui/form.tsx'
import { Notice } from '../ui/layout.tsx'
import { withCode } from '../ui/text.tsx'

const noModel =
  "This server has no model, so agents can't work. An owner of this server can set one on the Model page of the account menu."

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
  return useLacksModel() ? <ModelRefusal /> : null
}

/** The refusal as text, with the way to the page for those who may open it. */
export function ModelRefusal() {
  const isOwner = useIsInstanceOwner()
  return (
    <span className="text-sm text-warn">
      {noModel}
      {isOwner && (
        <>
          {' '}
          <Link to={paths.modelSettings} className="text-accent underline">
            Set a model
          </Link>
        </>
      )}
    </span>
  )
}

/** Only an owner of the instance can read it. */
export const useIsInstanceOwner = () => useQuery(modelUpstream).isSuccess

/** The refusal of the service, for what the page could not refuse before. */
export function NoModelFailure({ error: { message, hint } }: { error: ApiError }) {
  const isOwner = useIsInstanceOwner()
  return (
    <Notice title={message} action={isOwner && <SetModel kind="plain" />}>
      {hint !== null && (
        <details>
          <summary className="cursor-pointer">Other ways</summary>
          <p>{withCode(hint)}</p>
        </details>
      )}
    </Notice>
  )
}

function SetModel({ kind }: { kind: ButtonKind }) {
  return (
    <Link to={paths.modelSettings} className={buttonClass(kind)}>
      Set a model
    </Link>
  )
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
    <Notice tone="warn" title="No model is configured" action={isOwner && <SetModel kind="primary" />}>
      Agents can't work until this server has a model.
      {isError && ' Ask an owner of this server to set one.'}
    </Notice>
  )
}
