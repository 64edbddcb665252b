import { Failure, useSend } from '../requests.tsx'
import type { ReceivedInvitation } from '../../pages/account/queries.ts'
import { Button } from '../../ui/form.tsx'

export function InvitationText({ invitation }: { invitation: ReceivedInvitation }) {
  return (
    <p>
      {invitation.invited_by ?? 'A former member'} invited {invitation.email} to the account{' '}
      <strong>{invitation.account_name}</strong> as {invitation.role}.
    </p>
  )
}

export function Join({ by, label }: { by: { code: string } | { invitation_id: string }; label: string }) {
  const join = useSend('POST', '/v1/invitations/accept', { onSuccess: () => location.replace('/') })
  return (
    <>
      {join.isError && <Failure error={join.error} />}
      <Button kind="primary" busy={join.isPending || join.isSuccess} onClick={() => join.mutate(by)}>
        {label}
      </Button>
    </>
  )
}
