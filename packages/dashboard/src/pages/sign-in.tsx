import { useMutation } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { api, reply } from '../api.ts'
import { EmailField, PasswordField } from '../components/credential-fields.tsx'
import { Failure } from '../components/failure.tsx'
import { Button } from '../ui/button.tsx'
import { Command } from '../ui/copy.tsx'

const route = getRouteApi('/sign-in')

/** The owner link's code is in the fragment; a click spends it, so that a mail scanner's look does not. */
export function SignInPage() {
  const [code] = useState(() => location.hash.slice(1))
  const { next = '/' } = route.useSearch()
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
          <p>You are not signed in.</p>
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
