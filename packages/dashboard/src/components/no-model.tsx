import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { paths } from '../paths.ts'
import { models, modelUpstream } from '../pages/settings/queries.ts'
import { buttonClass } from '../ui/form.tsx'
import { Notice } from '../ui/layout.tsx'

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
