import { useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { api, reply } from '../api.ts'
import { Answer } from '../components/answer.tsx'
import { Failure } from '../components/failure.tsx'
import { InvitationText, Join } from '../components/join.tsx'
import { PasswordForm } from '../components/password-form.tsx'
import { ProviderLink } from '../components/provider-link.tsx'
import { me } from '../queries.ts'
import { Button } from '../ui/button.tsx'
import { Command } from '../ui/copy.tsx'
import { Notice } from '../ui/notice.tsx'

const route = getRouteApi('/sign-in')

/** What the provider's redirect came back with, by its name in the address. */
const problems: Readonly<Record<string, string>> = {
  unknown: 'Nobody here has the e-mail address you signed in with. Ask an owner of the account to add you.',
  unverified: 'The provider does not say that your e-mail address is yours, so it cannot tell who you are here.',
  unlinked:
    'A user with your e-mail address signs in here another way. Sign in that way first; then sign in with the provider in the same browser to connect the two.',
  another: 'Your e-mail address belongs to somebody who signs in with another account of the provider. Ask an owner.',
  expired: 'That took too long, or began in another browser. Try again.',
  refused: 'The provider did not sign you in.',
  away: 'The provider does not answer. Try again, or use another way.',
  failed: 'What the provider answered does not fit. Try again; the server’s log says more.',
}

/** The person decides: as whom, into which account, invited by whom. */
function Invited({ code, signUp, busy }: { code: string; signUp: () => void; busy: boolean }) {
  const invitation = useQuery({
    queryKey: ['invitation', code],
    queryFn: () => reply(api.POST('/v1/invitations/read', { body: { code } })),
    retry: false,
  })
  const signedIn = useQuery({ ...me, retry: false })
  const user = signedIn.data?.user
  return (
    <Answer of={invitation} what="the invitation">
      {(found) => (
        <>
          <InvitationText invitation={found} />
          {user !== undefined && <Join by={{ code }} label={`Join as ${user.name}`} />}
          <Button kind={user === undefined ? 'primary' : 'plain'} busy={busy} onClick={signUp}>
            Join as a new user
          </Button>
          {user === undefined && (
            <p className="text-dim">Do you have a user here? Sign in first, then open this link again.</p>
          )}
        </>
      )}
    </Answer>
  )
}

/** The owner link's code is in the fragment; a click spends it, so that a mail scanner's look does not. */
export function SignInPage() {
  const [code] = useState(() => location.hash.slice(1))
  const { next = '/', problem } = route.useSearch()
  const link = useMutation({
    mutationFn: () => reply(api.POST('/v1/sign-in', { body: { code } })),
    onSuccess: () => location.replace('/'),
  })
  return (
    <main className="mx-auto flex max-w-md flex-col gap-6 px-4 py-16">
      <h1 className="text-2xl font-semibold">svc</h1>
      {code.startsWith('inv_') && !link.isError ? (
        <Invited code={code} signUp={() => link.mutate()} busy={link.isPending || link.isSuccess} />
      ) : code !== '' && !link.isError ? (
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
          <ProviderLink next={next} />
          <PasswordForm onSignedIn={() => location.replace(next)} />
          <div className="flex flex-col gap-2">
            <p className="text-dim">Or make a link that signs you in, where the server runs:</p>
            <Command>svc self-host owner-link</Command>
          </div>
        </>
      )}
    </main>
  )
}
