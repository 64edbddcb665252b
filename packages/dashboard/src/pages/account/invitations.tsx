import { useMutation, useQuery } from '@tanstack/react-query'
import { api, reply } from '../../api.ts'
import { useInvalidate } from '../../cache/invalidate.ts'
import { invitations } from './queries.ts'
import { Button } from '../../ui/button.tsx'
import { Card, Row, Rows } from '../../ui/card.tsx'
import { Command } from '../../ui/copy.tsx'
import { Notice } from '../../ui/notice.tsx'
import { Time } from '../../ui/time.tsx'
import { ConfirmButton } from '../../components/confirm-button.tsx'
import { RefusedAction } from '../../components/sign-in/confirm-sign-in.tsx'

/** The pending invitations of an account, for its owners and admins. */
export function Invitations({ accountId }: { accountId: string }) {
  const found = useQuery(invitations(accountId))
  const settle = { onSettled: useInvalidate(['account', accountId, 'invitations']) }
  const path = (invitationId: string) => ({ params: { path: { accountId, invitationId } } })
  const link = useMutation({
    mutationFn: (id: string) => reply(api.POST('/v1/accounts/{accountId}/invitations/{invitationId}/link', path(id))),
    ...settle,
  })
  const revoke = useMutation({
    mutationFn: (id: string) => reply(api.DELETE('/v1/accounts/{accountId}/invitations/{invitationId}', path(id))),
    ...settle,
  })
  if (found.data === undefined || found.data.invitations.length === 0) return null
  return (
    <Card title="Invitations">
      {link.isError && (
        <RefusedAction
          error={link.error}
          repeat={() => link.variables !== undefined && link.mutate(link.variables)}
          cancel={() => link.reset()}
        />
      )}
      {revoke.isError && <RefusedAction error={revoke.error} repeat={() => {}} cancel={() => revoke.reset()} />}
      {link.data !== undefined && <InvitationLink url={link.data.url} />}
      <Rows label="Invitations">
        {found.data.invitations.map((each) => (
          <Row key={each.invitation_id}>
            <span className="min-w-40 flex-1">
              <span className="font-medium">{each.email}</span>
              <span className="block text-sm text-dim">
                {each.role}
                {each.invited_by !== null && ` · invited by ${each.invited_by.name}`}
              </span>
            </span>
            <span className="text-sm text-dim">
              expires <Time at={each.expires_at} />
            </span>
            <Button
              kind="quiet"
              aria-label={`Create link for ${each.email}`}
              onClick={() => link.mutate(each.invitation_id)}
            >
              {each.has_link ? 'Create new link' : 'Create link'}
            </Button>
            <ConfirmButton
              verb="Revoke"
              of={each.email}
              title={`Revoke the invitation for ${each.email}?`}
              busy={revoke.isPending}
              onConfirm={() => revoke.mutate(each.invitation_id)}
            >
              The link stops working. You can invite them again.
            </ConfirmButton>
          </Row>
        ))}
      </Rows>
    </Card>
  )
}

export function InvitationLink({ url, email }: { url: string; email?: string | null }) {
  return (
    <Notice
      tone="neutral"
      title={`Send this link to ${email ?? 'the new member'}. It works once and expires in seven days.`}
    >
      <Command>{url}</Command>
    </Notice>
  )
}
