import { useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { api, reply } from '../api.ts'
import { EmailField, PasswordField } from '../components/credential-fields.tsx'
import { Failure } from '../components/failure.tsx'
import { Button, buttonClass } from '../ui/button.tsx'
import { Command } from '../ui/copy.tsx'
import { Notice } from '../ui/notice.tsx'
import { signInMethods } from '../queries.ts'

const route = getRouteApi('/sign-in')

/** What the provider's redirect came back with, by its name in the address. */
const problems: Readonly<Record<string, string>> = {
  unknown: 'Nobody here has the e-mail address you signed in with. Ask an owner of the account to add you.',
  unverified: 'The provider does not say that your e-mail address is yours, so it cannot tell who you are here.',
  another: 'Your e-mail address belongs to somebody who signs in with another account of the provider. Ask an owner.',
  expired: 'That took too long, or began in another browser. Try again.',
  refused: 'The provider did not sign you in.',
  away: 'The provider does not answer. Try again, or use another way.',
  failed: 'What the provider answered does not fit. Try again; the server’s log says more.',
}

/** The owner link's code is in the fragment; a click spends it, so that a mail scanner's look does not. */
export function SignInPage() {
  const [code] = useState(() => location.hash.slice(1))
  const { next = '/', problem } = route.useSearch()
  const methods = useQuery(signInMethods)
  const link = useMutation({
    mutationFn: () => reply(api.POST('/v1/sign-in', { body: { code } })),
    onSuccess: () => location.replace('/'),
  })
  return (
    <main className="mx-auto flex max-w-md flex-col gap-6 px-4 py-16">
      <h1 className="text-2xl font-semibold">svc</h1>
      {code !== '' && !link.isError ? (
        <>
          <p>This link signs you in on this browser.</p>
          <Button kind="primary" busy={link.isPending || link.isSuccess} onClick={() => link.mutate()}>
            Sign in
          </Button>
        </>
      ) : (
        <>
          {link.isError && <Failure error={link.error} />}
          {problem !== undefined && problems[problem] !== undefined && <Notice title={problems[problem]} />}
          <p>You are not signed in.</p>
          {methods.data?.oidc != null && (
            // A real link: it leaves for another site.
            <a className={buttonClass('primary')} href={`/sign-in/oidc?${new URLSearchParams({ next })}`}>
              Sign in with {methods.data.oidc}
            </a>
          )}
          <PasswordForm next={next} />
          <div className="flex flex-col gap-2">
            <p className="text-dim">Or make a link that signs you in, where the server runs:</p>
            <Command>svc self-host owner-link</Command>
          </div>
        </>
      )}
    </main>
  )
}

function PasswordForm({ next }: { next: string }) {
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const signIn = useMutation({
    mutationFn: () => reply(api.POST('/v1/sign-in/password', { body: { email, password } })),
    onSuccess: () => location.replace(next),
  })
  const refusal = email === '' || password === '' ? 'E-mail and password are needed' : null
  return (
    <form
      className="flex flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault()
        if (refusal === null && !signIn.isPending) signIn.mutate()
      }}
    >
      {signIn.isError && <Failure error={signIn.error} />}
      <EmailField value={email} onChange={setEmail} />
      <PasswordField label="Password" value={password} onChange={setPassword} />
      <Button type="submit" kind="primary" busy={signIn.isPending} disabledReason={refusal}>
        Sign in
      </Button>
    </form>
  )
}
