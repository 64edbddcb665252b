import { useState } from 'react'
import { api, reply } from '../api.ts'
import { Failure } from '../components/failure.tsx'
import { Button } from '../ui/button.tsx'
import { Command } from '../ui/copy.tsx'

/** The owner link's code is in the fragment; a click spends it, so that a mail scanner's look does not. */
export function SignInPage() {
  const [code] = useState(() => location.hash.slice(1))
  const [error, setError] = useState<unknown>(null)
  const [busy, setBusy] = useState(false)
  const signIn = async () => {
    setBusy(true)
    try {
      await reply(api.POST('/v1/sign-in', { body: { code } }))
      location.replace('/')
    } catch (refused) {
      setError(refused)
      setBusy(false)
    }
  }
  return (
    <main className="mx-auto flex max-w-md flex-col gap-4 px-4 py-16">
      <h1 className="text-2xl font-semibold">svc</h1>
      {error !== null && <Failure error={error} />}
      {code !== '' && error === null ? (
        <>
          <p>This link signs you in on this browser.</p>
          <Button kind="primary" busy={busy} onClick={signIn}>
            Sign in
          </Button>
        </>
      ) : (
        <>
          <p>You are not signed in. Make a link that signs you in:</p>
          <Command>svc self-host owner-link</Command>
        </>
      )}
    </main>
  )
}
