import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, reply } from '../../api.ts'
import { useInvalidate } from '../../cache/invalidate.ts'
import { QueryResult } from '../../components/query-result.tsx'
import { Failure } from '../../components/failure.tsx'
import { me, type Member, members, type Role } from './queries.ts'
import { ConfirmButton } from '../../components/confirm-button.tsx'
import { RefusedAction } from '../../components/sign-in/confirm-sign-in.tsx'
import { InvitationLink, Invitations } from './invitations.tsx'
import { useAdminRefusal } from '../../components/role.ts'
import { Button } from '../../ui/button.tsx'
import { Card, Row, Rows } from '../../ui/card.tsx'
import { Form, Input, Select } from '../../ui/field.tsx'
import { Time } from '../../ui/time.tsx'
import { Page } from '../../ui/page.tsx'

const roles: [Role, string][] = [
  ['owner', 'Owner'],
  ['admin', 'Admin'],
  ['member', 'Member'],
  ['viewer', 'Viewer (read-only)'],
]

export function MembersPage() {
  const found = useQuery(me)
  return (
    <Page title="Members">
      <QueryResult of={found} what="your account">
        {({ account, user }) => <Members accountId={account.account_id} userId={user.user_id} />}
      </QueryResult>
    </Page>
  )
}

function Members({ accountId, userId }: { accountId: string; userId: string }) {
  const refusal = useAdminRefusal(accountId)
  const found = useQuery(members(accountId))
  const settle = { onSettled: useInvalidate(['account', accountId]) }
  const change = useMutation({
    mutationFn: ({ userId, role }: { userId: string; role: Role }) =>
      reply(
        api.PATCH('/v1/accounts/{accountId}/members/{userId}', {
          params: { path: { accountId, userId } },
          body: { role },
        }),
      ),
    ...settle,
  })
  const remove = useMutation({
    mutationFn: (userId: string) =>
      reply(api.DELETE('/v1/accounts/{accountId}/members/{userId}', { params: { path: { accountId, userId } } })),
    ...settle,
  })
  return (
    <>
      {change.isError && (
        <RefusedAction
          error={change.error}
          repeat={() => change.variables !== undefined && change.mutate(change.variables)}
          cancel={() => change.reset()}
        />
      )}
      {remove.isError && <Failure error={remove.error} />}
      <InviteMember accountId={accountId} refusal={refusal} />
      {refusal === null && <Invitations accountId={accountId} />}
      <Card title="Members">
        <QueryResult of={found} what="members">
          {(list) => (
            <Rows label="Members">
              {list.map((member) => (
                <MemberRow
                  key={member.user_id}
                  member={member}
                  refusal={refusal}
                  isSelf={member.user_id === userId}
                  onRole={(role) => change.mutate({ userId: member.user_id, role })}
                  removal={remove}
                />
              ))}
            </Rows>
          )}
        </QueryResult>
      </Card>
    </>
  )
}

function InviteMember({ accountId, refusal }: { accountId: string; refusal: string | null }) {
  const [email, setEmail] = useState('')
  const [role, setRole] = useState<Role>('member')
  const add = useMutation({
    mutationFn: () =>
      reply(api.POST('/v1/accounts/{accountId}/members', { params: { path: { accountId } }, body: { email, role } })),
    onSettled: useInvalidate(['account', accountId]),
    onSuccess: () => setEmail(''),
  })
  return (
    <>
      {add.isError && <RefusedAction error={add.error} repeat={() => add.mutate()} cancel={() => add.reset()} />}
      {add.data?.sign_in != null && <InvitationLink url={add.data.sign_in.url} email={add.data.member.email} />}
      <Card title="Invite a member">
        <Form onSubmit={() => refusal === null && email !== '' && !add.isPending && add.mutate()}>
          <Input label="Email" type="email" value={email} onChange={setEmail} />
          <Select label="Role" options={roles} value={role} onChange={setRole} />
          <Button
            type="submit"
            kind="primary"
            busy={add.isPending}
            disabledReason={refusal ?? (email === '' ? 'Enter an email address' : null)}
          >
            Invite member
          </Button>
        </Form>
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
      <span className="min-w-40 flex-1">
        <span className="font-medium">{member.name}</span>
        <span className="block text-sm text-dim">{member.email ?? 'No email address'}</span>
      </span>
      <span className="text-sm text-dim">
        joined <Time at={member.created_at} />
      </span>
      <select
        aria-label={`Role of ${member.name}`}
        className="min-h-9 rounded-md border border-line-strong bg-ground px-2 text-sm"
        value={member.role}
        disabled={refusal !== null}
        title={refusal ?? undefined}
        onChange={(event) => onRole(event.target.value as Role)}
      >
        {roles.map(([value]) => (
          <option key={value} value={value}>
            {value}
          </option>
        ))}
      </select>
      <ConfirmButton
        verb="Remove"
        of={member.name}
        title={`Remove ${member.name} from the account?`}
        busy={removal.isPending}
        disabledReason={isSelf ? null : refusal}
        onConfirm={() => removal.mutate(member.user_id)}
      >
        Their tokens lose access to the account immediately. The projects and sessions they created stay.
      </ConfirmButton>
    </Row>
  )
}
