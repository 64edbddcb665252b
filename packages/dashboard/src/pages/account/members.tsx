import { Failure, Read, SendForm, useSend } from '../../components/requests.tsx'
import { me, type Member, members, type Role } from './queries.ts'
import { ConfirmButton } from '../../components/confirm-button.tsx'
import { RefusedAction } from '../../components/sign-in/confirm-sign-in.tsx'
import { InvitationLink, Invitations } from './invitations.tsx'
import { useAdminRefusal } from '../../components/role.ts'
import { Card, Page, Row, Rows } from '../../ui/layout.tsx'
import { fieldClass, Input, Select, useFields } from '../../ui/form.tsx'
import { Time } from '../../ui/text.tsx'

const roles: [Role, string][] = [
  ['owner', 'Owner'],
  ['admin', 'Admin'],
  ['member', 'Member'],
  ['viewer', 'Viewer (read-only)'],
]

export function MembersPage() {
  return (
    <Page title="Members">
      <Read query={me} what="your account">
        {({ account, user }) => <Members accountId={account.account_id} userId={user.user_id} />}
      </Read>
    </Page>
  )
}

function Members({ accountId, userId: ownId }: { accountId: string; userId: string }) {
  const refusal = useAdminRefusal(accountId)
  const settle = { refetch: [['account', accountId]] }
  const change = useSend('PATCH', '/v1/accounts/{accountId}/members/{userId}', {
    request: ({ userId, role }: { userId: string; role: Role }) => ({ path: { accountId, userId }, body: { role } }),
    ...settle,
  })
  const remove = useSend('DELETE', '/v1/accounts/{accountId}/members/{userId}', {
    request: (userId: string) => ({ path: { accountId, userId } }),
    ...settle,
  })
  return (
    <>
      <RefusedAction action={change} />
      {remove.isError && <Failure error={remove.error} />}
      <InviteMember accountId={accountId} refusal={refusal} />
      {refusal === null && <Invitations accountId={accountId} />}
      <Card title="Members">
        <Read query={members(accountId)} what="members">
          {(list) => (
            <Rows label="Members">
              {list.map((member) => (
                <MemberRow
                  key={member.user_id}
                  member={member}
                  refusal={refusal}
                  isSelf={member.user_id === ownId}
                  onRole={(role) => change.mutate({ userId: member.user_id, role })}
                  removal={remove}
                />
              ))}
            </Rows>
          )}
        </Read>
      </Card>
    </>
  )
}

function InviteMember({ accountId, refusal }: { accountId: string; refusal: string | null }) {
  const { values, set, field } = useFields<{ email: string; role: Role }>({ email: '', role: 'member' })
  const add = useSend('POST', '/v1/accounts/{accountId}/members', {
    path: { accountId },
    refetch: [['account', accountId]],
    onSuccess: () => set({ email: '' }),
  })
  return (
    <>
      <RefusedAction action={add} />
      {add.data?.sign_in != null && <InvitationLink url={add.data.sign_in.url} email={add.data.member.email} />}
      <Card title="Invite a member">
        <SendForm
          of={{ ...add, error: null }}
          submit="Invite member"
          refusal={refusal ?? (values.email === '' ? 'Enter an email address' : null)}
          onSubmit={() => add.mutate(values)}
        >
          <Input label="Email" type="email" {...field('email')} />
          <Select label="Role" options={roles} {...field('role')} />
        </SendForm>
      </Card>
    </>
  )
}

function MemberRow({
  member,
  refusal,
  isSelf,
  onRole,
  removal,
}: {
  member: Member
  refusal: string | null
  isSelf: boolean
  onRole: (role: Role) => void
  removal: { isPending: boolean; mutate: (userId: string) => void }
}) {
  return (
    <Row>
      <span className="min-w-0 flex-1 basis-full wrap-anywhere sm:basis-40">
        <span className="font-medium">{member.name}</span>
        <span className="block text-sm text-dim">
          {member.email ?? 'No email address'} · joined <Time at={member.created_at} />
        </span>
      </span>
      <select
        aria-label={`Role of ${member.name}`}
        className={`${fieldClass} max-sm:flex-1`}
        value={member.role}
        disabled={refusal !== null}
        title={refusal ?? undefined}
        onChange={(event) => onRole(event.target.value as Role)}
      >
        {roles.map(([value, label]) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </select>
      <ConfirmButton
        verb="Remove"
        of={member.name}
        title={`Remove ${member.name} from the account?`}
        action={removal}
        given={member.user_id}
        disabledReason={isSelf ? null : refusal}
      >
        Their tokens lose access to the account immediately. The projects and sessions they created stay.
      </ConfirmButton>
    </Row>
  )
}
