import { useQuery } from '@tanstack/react-query'
import { shortBranch } from '../../../components/branch-name.tsx'
import { Failure, useSend } from '../../../components/requests.tsx'
import { type ChangeRequest, pathOf, pullRequest } from '../queries.ts'
import { Button } from '../../../ui/form.tsx'
import { Notice } from '../../../ui/layout.tsx'
import { Time } from '../../../ui/text.tsx'

/** The git host protects the base branch: its message, and the way to merge there. */
export function ProtectedBase({ cr }: { cr: ChangeRequest }) {
  const found = useQuery(pullRequest(cr)).data
  const open = useSend('POST', '/v1/projects/{projectId}/change-requests/{crId}/pull-request', {
    path: pathOf(cr),
    once: true,
    refetch: [['project', cr.project_id, 'change-request', cr.cr_id]],
  })
  if (found === undefined || (found.protection === null && found.pull_request === null)) return null
  const { protection, can_open, pull_request } = found
  return (
    <div className="flex flex-col gap-2 text-sm">
      <Notice
        tone="warn"
        // A hook can refuse one push and accept the next, so a refusal alone proves no protection.
        title={
          protection?.found_by === 'push'
            ? `The git host refused the last push to ${cr.base_ref}`
            : `${cr.base_ref} is protected on the git host`
        }
        action={pull_request === null && can_open && <Button action={open}>Create pull request</Button>}
      >
        {protection !== null && (
          <p className="break-words">
            {protection.reason} <Time at={protection.found_at} />
          </p>
        )}
        {pull_request === null ? (
          <p>
            {can_open
              ? 'Merge it with a pull request on the git host.'
              : `Merge ${shortBranch(cr.head_ref)} into ${cr.base_ref} on the git host, or allow pushes from this project there.`}{' '}
            This change request then becomes merged.
          </p>
        ) : (
          <p>
            <a className="text-accent underline" href={pull_request.url} rel="noreferrer" target="_blank">
              Pull request #{pull_request.number}
            </a>{' '}
            is open on the git host. When it is merged, this change request becomes merged too.
          </p>
        )}
      </Notice>
      {open.isError && <Failure error={open.error} />}
    </div>
  )
}
