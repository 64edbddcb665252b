import { Failure, useSend } from '../requests.tsx'
import { Button, Form, useFields } from '../../ui/form.tsx'
import { EmailField, PasswordField } from './credential-fields.tsx'

export function PasswordForm({ onSignedIn }: { onSignedIn: () => void }) {
  const { values, field } = useFields({ email: '', password: '' })
  const signIn = useSend('POST', '/v1/sign-in/password', { onSuccess: onSignedIn })
  const refusal = values.email === '' || values.password === '' ? 'Enter your email and password' : null
  return (
    <Form
      className="flex flex-col gap-3"
      onSubmit={() => refusal === null && !signIn.isPending && signIn.mutate(values)}
    >
      {signIn.isError && <Failure error={signIn.error} />}
      <EmailField {...field('email')} />
      <PasswordField label="Password" {...field('password')} />
      <Button type="submit" kind="primary" busy={signIn.isPending} disabledReason={refusal}>
        Sign in
      </Button>
    </Form>
  )
}
