import { Failure, Read, SendForm, useSend } from '../../components/requests.tsx'
import { RefusedAction } from '../../components/sign-in/confirm-sign-in.tsx'
import { EmailField, PasswordField } from '../../components/sign-in/credential-fields.tsx'
import { browserName } from './browser-name.ts'
import { dashboardSessions, password } from './queries.ts'
import { Badge, Time } from '../../ui/text.tsx'
import { Button, twoColumns, useFields } from '../../ui/form.tsx'
import { Card, Page, Row, Rows } from '../../ui/layout.tsx'

export function ProfilePage() {
  return (
    <Page narrow title="Profile">
      <Read query={password} what="your profile">
        {({ email, is_set }) => <Password email={email} isSet={is_set} />}
      </Read>
      <ActiveSignIns />
    </Page>
  )
}

function Password({ email: known, isSet }: { email: string | null; isSet: boolean }) {
  const { values, set, field } = useFields({ email: known ?? '', current: '', next: '' })
  const { email, current, next } = values
  const save = useSend('POST', '/v1/accounts/password', {
    // It ends the other sign-ins.
    refetch: [password.queryKey, dashboardSessions.queryKey],
    onSuccess: () => set({ current: '', next: '' }),
  })
  return (
    <Card title={isSet ? 'Change your password' : 'Set a password to sign in without a link'}>
      <RefusedAction action={save} />
      <SendForm
        className={twoColumns}
        of={{ ...save, error: null }}
        submit="Save password"
        refusal={email === '' ? 'Enter your email address' : next.length < 10 ? 'Use at least 10 characters' : null}
        saved="Saved. Your other browsers were signed out."
        onSubmit={() =>
          save.mutate({ email, password: next, ...(current === '' ? {} : { current_password: current }) })
        }
      >
        <EmailField {...field('email')} />
        {isSet && (
          <PasswordField
            label="Current password"
            hint="Not required right after you signed in with a link."
            {...field('current')}
          />
        )}
        <PasswordField label="New password" autoComplete="new-password" {...field('next')} />
      </SendForm>
    </Card>
  )
}

function ActiveSignIns() {
  const end = useSend('DELETE', '/v1/accounts/dashboard-sessions/{dashboardSessionId}', {
    request: (dashboardSessionId: string) => ({ path: { dashboardSessionId } }),
    refetch: [dashboardSessions.queryKey],
  })
  return (
    <Card title="Active sign-ins">
      {end.isError && <Failure error={end.error} />}
      <Read query={dashboardSessions} what="your active sign-ins">
        {(list) => (
          <Rows label="Sign-ins">
            {list.map((each) => (
              <Row key={each.dashboard_session_id}>
                <span className="min-w-0 grow basis-full sm:basis-56">
                  <Browser userAgent={each.user_agent} />
                  <span className="block text-sm text-dim">
                    {each.address ?? 'Unknown address'} · by{' '}
                    {each.began_by === 'oidc' ? 'single sign-on' : each.began_by}
                  </span>
                </span>
                <span className="max-sm:flex-1">
                  <Time at={each.last_used_at ?? each.created_at} />
                </span>
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
      </Read>
    </Card>
  )
}

function Browser({ userAgent }: { userAgent: string | null }) {
  if (userAgent === null) return 'Unknown browser'
  return (
    <span className="wrap-anywhere" title={userAgent}>
      {browserName(userAgent) ?? userAgent}
    </span>
  )
}
