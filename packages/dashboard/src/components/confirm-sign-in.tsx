import { AlertDialog } from '@base-ui/react/alert-dialog'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { api, ApiError, reply } from '../api.ts'
import { paths } from '../paths.ts'
import { password as passwordQuery } from '../queries.ts'
import { Button, buttonClass } from '../ui/button.tsx'
import { PasswordField } from './credential-fields.tsx'
import { Failure } from './failure.tsx'
import { ProviderLink } from './provider-link.tsx'

/** A refused action as the page shows it: where it needs a fresh sign-in, a dialog asks for it and repeats the action. */
export function RefusedAction({ error, repeat, cancel }: { error: Error; repeat: () => void; cancel: () => void }) {
  if (!(error instanceof ApiError) || error.code !== 'confirmation_needed') return <Failure error={error} />
  return <ConfirmSignIn repeat={repeat} cancel={cancel} />
}

function ConfirmSignIn({ repeat, cancel }: { repeat: () => void; cancel: () => void }) {
  const found = useQuery(passwordQuery)
  const [password, setPassword] = useState('')
  const confirm = useMutation({
    mutationFn: () => reply(api.POST('/v1/accounts/confirm', { body: { password } })),
    onSuccess: repeat,
  })
  return (
    <AlertDialog.Root open onOpenChange={(open) => !open && cancel()}>
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className="fixed inset-0 z-40 bg-black/50" />
        <AlertDialog.Popup className="fixed top-1/2 left-1/2 z-50 flex w-96 max-w-[calc(100vw-2rem)] -translate-x-1/2 -translate-y-1/2 flex-col gap-3 rounded-lg border border-line bg-ground p-5 outline-none">
          <AlertDialog.Title className="font-semibold">Confirm that it is you</AlertDialog.Title>
          <AlertDialog.Description className="text-sm text-dim">
            Changes of the account need a sign-in from the last ten minutes.
          </AlertDialog.Description>
          {found.data?.is_set === false && (
            <p className="text-sm">
              You have no password yet. <Link to={paths.profile}>Set one on your profile</Link>, right after signing in.
            </p>
          )}
          <form
            className="flex flex-col gap-3"
            onSubmit={(event) => {
              event.preventDefault()
              if (password !== '' && !confirm.isPending) confirm.mutate()
            }}
          >
            {confirm.isError && <Failure error={confirm.error} />}
            {found.data?.is_set === true && <PasswordField label="Password" value={password} onChange={setPassword} />}
            <div className="flex flex-wrap justify-end gap-2">
              <AlertDialog.Close className={buttonClass('plain')}>Cancel</AlertDialog.Close>
              <ProviderLink next={location.pathname + location.search} />
              {found.data?.is_set === true && (
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
          </form>
        </AlertDialog.Popup>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  )
}
