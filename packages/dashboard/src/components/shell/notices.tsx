import { useIsFetching, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { Link } from '@tanstack/react-router'
import { linkClass } from '../links.tsx'
import { useSend } from '../requests.tsx'
import { notices, type SecurityNotice } from '../../pages/account/queries.ts'
import { paths } from '../../paths.ts'
import { Button } from '../../ui/form.tsx'
import { Notice } from '../../ui/layout.tsx'
import { Time } from '../../ui/text.tsx'

/** Tokens, links, and invitations created in the user's name since they last dismissed this notice. */
export function Notices() {
  const queries = useQueryClient()
  const { data } = useQuery({ ...notices, enabled: useIsRested() })
  const dismiss = useSend('POST', '/v1/accounts/notices/dismiss', {
    onSuccess: () => queries.setQueryData(notices.queryKey, { notices: [] }),
  })
  const newest = data?.notices[0]
  if (data === undefined || newest === undefined) return null
  return (
    <Notice
      tone="warn"
      title="New access in your name"
      action={
        <Button busy={dismiss.isPending} onClick={() => dismiss.mutate({ up_to: newest.notice_id })}>
          Dismiss
        </Button>
      }
    >
      <List of={data.notices.slice(0, shownMax)} />
      {data.notices.length > shownMax && (
        <details>
          <summary className="cursor-pointer">Show {data.notices.length - shownMax} more</summary>
          <List of={data.notices.slice(shownMax)} />
        </details>
      )}
      <p>
        If this was you, dismiss it. If this wasn't you, revoke it under{' '}
        <Link to={paths.tokens} className={linkClass}>
          Tokens
        </Link>{' '}
        or{' '}
        <Link to={paths.members} className={linkClass}>
          Members
        </Link>
        , and{' '}
        <Link to={paths.profile} className={linkClass}>
          change your password
        </Link>
        .
      </p>
    </Notice>
  )
}

/** They are above every page, so the rest is folded. */
const shownMax = 2

function List({ of: listed }: { of: readonly SecurityNotice[] }) {
  return (
    <ul>
      {listed.map((each) => (
        <li key={each.notice_id}>
          {sentence(each)} <Time at={each.at} />
          {each.address !== null && `, from ${each.address}`}
          {each.token_name !== null && `, with the token “${each.token_name}”`}
        </li>
      ))}
    </ul>
  )
}

/** The page has its first answers. What it shows comes before what happened since the last visit. */
function useIsRested(): boolean {
  const isFetching = useIsFetching() > 0
  const hasBegun = useRef(false)
  const [isRested, setRested] = useState(false)
  useEffect(() => {
    if (isFetching) hasBegun.current = true
    else if (hasBegun.current) setRested(true)
  }, [isFetching])
  return isRested
}

function sentence({ action, name }: SecurityNotice): string {
  const named = name === null ? '' : ` “${name}”`
  switch (action) {
    case 'owner_link.create':
      return 'A sign-in link was created'
    case 'token.create':
      return `A token${named} was created`
    case 'cli_login.redeem':
      return `A terminal${named} signed in`
    case 'invitation.create':
      return `An invitation for${named || ' a new member'} was created`
    case 'member.role':
      return "A member's role was changed"
    case 'channel_link.create':
      return `The chat user${named} was linked to you`
    default:
      return action
  }
}
