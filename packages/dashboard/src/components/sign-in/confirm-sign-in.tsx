import { AlertDialog } from '@base-ui/react/alert-dialog'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { ApiError } from '../../api.ts'
import { Failure, useSend, type Sending } from '../requests.tsx'
import { password as passwordQuery, signInMethods } from '../../pages/account/queries.ts'
import { Button, buttonClass, Form } from '../../ui/form.tsx'
import { Command } from '../../ui/text.tsx'
import { PasswordField } from './credential-fields.tsx'
import { DialogPopup } from '../confirm-dialog.tsx'
import { nextPage } from './next-page.ts'
import { ProviderLink } from './provider-link.tsx'

/** Shows why an action failed. If the action needs a recent sign-in, a dialog asks for it and repeats the action. */
export function RefusedAction<Given>({ action: { error, variables, mutate, reset } }: { action: Sending<Given> }) {
  if (error === null) return null
  if (!(error instanceof ApiError) || error.code !== 'confirmation_needed') return <Failure error={error} />
  return <ConfirmSignIn repeat={() => mutate(variables as Given)} cancel={reset} />
}

function ConfirmSignIn({ repeat, cancel }: { repeat: () => void; cancel: () => void }) {
  const { data: known } = useQuery(passwordQuery)
  const [password, setPassword] = useState('')
  const confirm = useSend('POST', '/v1/accounts/confirm', { onSuccess: repeat })
  return (
    <AlertDialog.Root open onOpenChange={(open) => !open && cancel()}>
      <DialogPopup>
        <AlertDialog.Title className="font-semibold">Confirm it's you</AlertDialog.Title>
        <AlertDialog.Description className="text-sm text-dim">
          Changing the account requires a sign-in within the last ten minutes.
        </AlertDialog.Description>
        {known?.is_set === false && <WithoutPassword email={known.email} />}
        <Form
          className="flex flex-col gap-3"
          onSubmit={() => password !== '' && !confirm.isPending && confirm.mutate({ password })}
        >
          {confirm.isError && <Failure error={confirm.error} />}
          {known?.is_set === true && <PasswordField label="Password" value={password} onChange={setPassword} />}
          <div className="flex flex-wrap justify-end gap-2">
            <AlertDialog.Close className={buttonClass('plain')}>Cancel</AlertDialog.Close>
            <ProviderLink next={here()} />
            {known?.is_set === true && (
              <Button
                type="submit"
                kind="primary"
                busy={confirm.isPending}
                disabledReason={password === '' ? 'Enter your password' : null}
              >
                Confirm
              </Button>
            )}
          </div>
        </Form>
      </DialogPopup>
    </AlertDialog.Root>
  )
}

const here = () => location.pathname + location.search

/** A sign-in link confirms, too. It comes back to this page. */
function WithoutPassword({ email }: { email: string | null }) {
  const { data } = useQuery(signInMethods)
  useEffect(() => nextPage.set(here()), [])
  return (
    <div className="flex flex-col gap-2 text-sm">
      <p>
        You have no password, so sign in again{data?.oidc == null ? '' : ` with ${data.oidc} or`} with a link. This
        command on the server's machine makes one:
      </p>
      <Command>{`svc self-host owner-link${email === null ? '' : ` --email ${email}`}`}</Command>
      <p>
        Open the link in this tab, and try again. After that sign-in, set a password on your profile to need no link
        from then on.
      </p>
    </div>
  )
}
