import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, reply } from '../../api.ts'
import { askAgain } from '../../ask-again.ts'
import { Answer } from '../../components/answer.tsx'
import { Failure } from '../../components/failure.tsx'
import { me, members, type Role } from '../../queries.ts'
import { ConfirmButton } from '../../components/confirm-button.tsx'
import { RefusedAction } from '../../components/confirm-sign-in.tsx'
import { InvitationLink, Invitations } from '../../components/invitations.tsx'
import { useAdminRefusal } from '../../components/role.ts'
import { Button } from '../../ui/button.tsx'
import { Card, Row, Rows } from '../../ui/card.tsx'
import { Form, Input, Select } from '../../ui/field.tsx'
import { Time } from '../../ui/time.tsx'

const roles: [Role, string][] = [
  ['owner', 'Owner'],
  ['admin', 'Admin'],
  ['member', 'Member'],
  ['viewer', 'Viewer: may look, may not write'],
]

export function MembersPage() {
  const found = useQuery(me)
  return (
    <div className="flex flex-col gap-6">
      <h1 className="text-xl font-semibold">Members</h1>
      <Answer of={found} what="your account">
        {({ account, user }) => <Members accountId={account.account_id} userId={user.user_id} />}
      </Answer>
    </div>
  )
}

function Members({ accountId, userId }: { accountId: string; userId: string }) {
  const queries = useQueryClient()
  const refusal = useAdminRefusal(accountId)
  const found = useQuery(members(accountId))
  const [email, setEmail] = useState('')
  const [role, setRole] = useState<Role>('member')
  const settle = { onSettled: askAgain(queries, ['account', accountId]) }
  const add = useMutation({
    mutationFn: () =>
      reply(api.POST('/v1/accounts/{accountId}/members', { params: { path: { accountId } }, body: { email, role } })),
    ...settle,
    onSuccess: () => setEmail(''),
  })
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
      {add.isError && <RefusedAction error={add.error} repeat={() => add.mutate()} cancel={() => add.reset()} />}
      {change.isError && (
        <RefusedAction
          error={change.error}
          repeat={() => change.variables !== undefined && change.mutate(change.variables)}
          cancel={() => change.reset()}
        />
      )}
      {remove.isError && <Failure error={remove.error} />}
      {add.data?.sign_in != null && <InvitationLink url={add.data.sign_in.url} email={add.data.member.email} />}
      <Card title="Invite a member">
        <Form onSubmit={() => refusal === null && email !== '' && !add.isPending && add.mutate()}>
          <Input label="E-mail" type="email" value={email} onChange={(event) => setEmail(event.target.value)} />
          <Select label="Role" options={roles} value={role} onChange={(event) => setRole(event.target.value as Role)} />
          <Button
            type="submit"
            kind="primary"
            busy={add.isPending}
            disabledReason={refusal ?? (email === '' ? 'An e-mail address is needed' : null)}
          >
            Invite
          </Button>
        </Form>
      </Card>
      {refusal === null && <Invitations accountId={accountId} />}
      <Card title="Members">
        <Answer of={found} what="members">
          {(list) => (
            <Rows label="Members">
              {list.map((member) => (
                <Row key={member.user_id}>
                  <span className="min-w-40 flex-1">
                    <span className="font-medium">{member.name}</span>
                    <span className="block text-sm text-dim">{member.email ?? 'no e-mail address'}</span>
                  </span>
                  <span className="text-sm text-dim">
                    since <Time at={member.created_at} />
                  </span>
                  <select
                    aria-label={`Role of ${member.name}`}
                    className="min-h-9 rounded-md border border-line-strong bg-ground px-2 text-sm"
                    value={member.role}
                    disabled={refusal !== null}
                    title={refusal ?? undefined}
                    onChange={(event) => change.mutate({ userId: member.user_id, role: event.target.value as Role })}
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
                    busy={remove.isPending}
                    disabledReason={member.user_id === userId ? null : refusal}
                    onConfirm={() => remove.mutate(member.user_id)}
                  >
                    Their tokens reach nothing of the account from then on. What they made stays.
                  </ConfirmButton>
                </Row>
              ))}
            </Rows>
          )}
        </Answer>
      </Card>
    </>
  )
}
