import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, reply } from '../../api.ts'
import { askAgain } from '../../ask-again.ts'
import { Answer } from '../../components/answer.tsx'
import { EmailField, PasswordField } from '../../components/credential-fields.tsx'
import { Failure } from '../../components/failure.tsx'
import { dashboardSessions, password } from '../../queries.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { Card, Row, Rows } from '../../ui/card.tsx'
import { Form } from '../../ui/field.tsx'
import { Time } from '../../ui/time.tsx'

export function ProfilePage() {
  const found = useQuery(password)
  return (
    <div className="flex flex-col gap-6">
      <h1 className="text-xl font-semibold">Profile</h1>
      <Answer of={found} what="your profile">
        {({ email, is_set }) => <Password email={email} isSet={is_set} />}
      </Answer>
      <SignedIn />
    </div>
  )
}

function Password({ email: known, isSet }: { email: string | null; isSet: boolean }) {
  const queries = useQueryClient()
  const [email, setEmail] = useState(known ?? '')
  const [current, setCurrent] = useState('')
  const [next, setNext] = useState('')
  const save = useMutation({
    mutationFn: () =>
      reply(
        api.POST('/v1/accounts/password', {
          body: { email, password: next, ...(current === '' ? {} : { current_password: current }) },
        }),
      ),
    onSuccess: async () => {
      setCurrent('')
      setNext('')
      await queries.invalidateQueries({ queryKey: ['password'] })
    },
  })
  const refusal =
    email === '' ? 'An e-mail address is needed' : next.length < 10 ? 'A password has 10 characters or more' : null
  return (
    <Card title={isSet ? 'Change your password' : 'Set a password, to sign in without a link'}>
      <Form onSubmit={() => refusal === null && !save.isPending && save.mutate()}>
        <EmailField value={email} onChange={setEmail} />
        {isSet && (
          <PasswordField
            label="Current password"
            hint="Not needed right after a sign-in link."
            value={current}
            onChange={setCurrent}
          />
        )}
        <PasswordField label="New password" isNew value={next} onChange={setNext} />
        <Button type="submit" kind="primary" busy={save.isPending} disabledReason={refusal}>
          Save
        </Button>
        <p role="status" className="w-full text-sm text-dim">
          {save.isSuccess ? 'Saved. Your other browsers were signed out.' : ''}
        </p>
        {save.isError && <Failure error={save.error} />}
      </Form>
    </Card>
  )
}

function SignedIn() {
  const queries = useQueryClient()
  const found = useQuery(dashboardSessions)
  const end = useMutation({
    mutationFn: (dashboardSessionId: string) =>
      reply(
        api.DELETE('/v1/accounts/dashboard-sessions/{dashboardSessionId}', {
          params: { path: { dashboardSessionId } },
        }),
      ),
    onSettled: askAgain(queries, ['dashboard-sessions']),
  })
  return (
    <Card title="Where you are signed in">
      {end.isError && <Failure error={end.error} />}
      <Answer of={found} what="your sign-ins">
        {(list) => (
          <Rows label="Sign-ins">
            {list.map((each) => (
              <Row key={each.dashboard_session_id}>
                <span className="min-w-0 grow basis-56">
                  {each.user_agent ?? 'An unknown browser'}
                  <span className="block text-sm text-dim">
                    {each.address ?? 'unknown address'}, by{' '}
                    {each.began_by === 'oidc' ? 'single sign-on' : each.began_by}
                  </span>
                </span>
                <Time at={each.last_used_at ?? each.created_at} />
                {each.current ? (
                  <Badge tone="accent">this one</Badge>
                ) : (
                  <Button kind="quiet" onClick={() => end.mutate(each.dashboard_session_id)}>
                    Sign out
                  </Button>
                )}
              </Row>
            ))}
          </Rows>
        )}
      </Answer>
    </Card>
  )
}
