import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, reply } from '../../api.ts'
import { useInvalidate } from '../../cache/invalidate.ts'
import { QueryResult } from '../../components/query-result.tsx'
import { EmailField, PasswordField } from '../../components/sign-in/credential-fields.tsx'
import { Failure } from '../../components/failure.tsx'
import { dashboardSessions, password } from './queries.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { Card, Row, Rows } from '../../ui/card.tsx'
import { Form } from '../../ui/field.tsx'
import { Time } from '../../ui/time.tsx'
import { Page } from '../../ui/page.tsx'

export function ProfilePage() {
  const found = useQuery(password)
  return (
    <Page title="Profile">
      <QueryResult of={found} what="your profile">
        {({ email, is_set }) => <Password email={email} isSet={is_set} />}
      </QueryResult>
      <ActiveSignIns />
    </Page>
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
  const refusal = email === '' ? 'Enter your email address' : next.length < 10 ? 'Use at least 10 characters' : null
  return (
    <Card title={isSet ? 'Change your password' : 'Set a password to sign in without a link'}>
      <Form onSubmit={() => refusal === null && !save.isPending && save.mutate()}>
        <EmailField value={email} onChange={setEmail} />
        {isSet && (
          <PasswordField
            label="Current password"
            hint="Not required right after you signed in with a link."
            value={current}
            onChange={setCurrent}
          />
        )}
        <PasswordField label="New password" isNew value={next} onChange={setNext} />
        <Button type="submit" kind="primary" busy={save.isPending} disabledReason={refusal}>
          Save password
        </Button>
        <p role="status" className="w-full text-sm text-dim">
          {save.isSuccess ? 'Saved. Your other browsers were signed out.' : ''}
        </p>
        {save.isError && <Failure error={save.error} />}
      </Form>
    </Card>
  )
}

function ActiveSignIns() {
  const found = useQuery(dashboardSessions)
  const end = useMutation({
    mutationFn: (dashboardSessionId: string) =>
      reply(
        api.DELETE('/v1/accounts/dashboard-sessions/{dashboardSessionId}', {
          params: { path: { dashboardSessionId } },
        }),
      ),
    onSettled: useInvalidate(['dashboard-sessions']),
  })
  return (
    <Card title="Active sign-ins">
      {end.isError && <Failure error={end.error} />}
      <QueryResult of={found} what="your active sign-ins">
        {(list) => (
          <Rows label="Sign-ins">
            {list.map((each) => (
              <Row key={each.dashboard_session_id}>
                <span className="min-w-0 grow basis-56">
                  {each.user_agent ?? 'Unknown browser'}
                  <span className="block text-sm text-dim">
                    {each.address ?? 'Unknown address'} · by{' '}
                    {each.began_by === 'oidc' ? 'single sign-on' : each.began_by}
                  </span>
                </span>
                <Time at={each.last_used_at ?? each.created_at} />
                {each.current ? (
                  <Badge tone="accent">this browser</Badge>
                ) : (
                  <Button kind="quiet" onClick={() => end.mutate(each.dashboard_session_id)}>
                    Sign out
                  </Button>
                )}
              </Row>
            ))}
          </Rows>
        )}
      </QueryResult>
    </Card>
  )
}
