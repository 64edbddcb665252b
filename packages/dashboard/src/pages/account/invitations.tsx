import { useQuery } from '@tanstack/react-query'
import { useSend } from '../../components/requests.tsx'
import { invitations } from './queries.ts'
import { Button } from '../../ui/form.tsx'
import { Card, Notice, Row, Rows } from '../../ui/layout.tsx'
import { Command, Time } from '../../ui/text.tsx'
import { ConfirmButton } from '../../components/confirm-button.tsx'
import { RefusedAction } from '../../components/sign-in/confirm-sign-in.tsx'

export function Invitations({ accountId }: { accountId: string }) {
  const list = invitations(accountId)
  const { data } = useQuery(list)
  const settle = { refetch: [list.queryKey] }
  const ofId = (invitationId: string) => ({ path: { accountId, invitationId } })
  const link = useSend('POST', '/v1/accounts/{accountId}/invitations/{invitationId}/link', { request: ofId, ...settle })
  const revoke = useSend('DELETE', '/v1/accounts/{accountId}/invitations/{invitationId}', { request: ofId, ...settle })
  if (data === undefined || data.invitations.length === 0) return null
  return (
    <Card title="Invitations">
      <RefusedAction action={link} />
      <RefusedAction action={revoke} />
      {link.data !== undefined && <InvitationLink url={link.data.url} />}
      <Rows label="Invitations">
        {data.invitations.map(({ invitation_id: id, email, role, invited_by, expires_at, has_link }) => (
          <Row key={id}>
            <span className="min-w-0 flex-1 basis-full wrap-anywhere lg:basis-40">
              <span className="font-medium">{email}</span>
              <span className="block text-sm text-dim">
                {role}
                {invited_by !== null && ` · invited by ${invited_by.name}`}
              </span>
            </span>
            <span className="min-w-0 flex-1 text-sm text-dim lg:flex-none">
              expires <Time at={expires_at} />
            </span>
            <Button kind="quiet" aria-label={`Create link for ${email}`} onClick={() => link.mutate(id)}>
              {has_link ? 'Create new link' : 'Create link'}
            </Button>
            <ConfirmButton
              verb="Revoke"
              of={email}
              title={`Revoke the invitation for ${email}?`}
              action={revoke}
              given={id}
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
