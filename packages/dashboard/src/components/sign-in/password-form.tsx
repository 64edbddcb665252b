import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { api, reply } from '../../api.ts'
import { Button } from '../../ui/button.tsx'
import { EmailField, PasswordField } from './credential-fields.tsx'
import { Failure } from '../failure.tsx'

export function PasswordForm({ onSignedIn }: { onSignedIn: () => void }) {
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const signIn = useMutation({
    mutationFn: () => reply(api.POST('/v1/sign-in/password', { body: { email, password } })),
    onSuccess: onSignedIn,
  })
  const refusal = email === '' || password === '' ? 'Enter your email and password' : null
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
