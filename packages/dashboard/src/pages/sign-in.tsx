import { queryOptions, useQuery } from '@tanstack/react-query'
import { getRouteApi, useLocation } from '@tanstack/react-router'
import { useEffect } from 'react'
import { api, reply } from '../api.ts'
import { Failure, Read, useSend } from '../components/requests.tsx'
import { InvitationText, Join } from '../components/sign-in/join.tsx'
import { nextPage } from '../components/sign-in/next-page.ts'
import { PasswordForm } from '../components/sign-in/password-form.tsx'
import { ProviderLink } from '../components/sign-in/provider-link.tsx'
import { me } from './account/queries.ts'
import { Button } from '../ui/form.tsx'
import { Command } from '../ui/text.tsx'
import { Notice } from '../ui/layout.tsx'

const route = getRouteApi('/sign-in')

/** Sign-in errors by their name in the provider's redirect. */
const problems: Readonly<Record<string, string>> = {
  unknown: 'No user has the email address you signed in with. Ask an owner of the account to invite you.',
  unverified: 'The provider has not verified your email address. Verify it there, then sign in again.',
  unlinked:
    'A user with your email address signs in another way. Sign in that way first, then sign in with the provider in the same browser to connect both.',
  another:
    'Your email address belongs to a user with a different account at the provider. Ask an owner of the account.',
  expired: 'The sign-in expired or started in another browser. Try again.',
  refused: 'The provider refused the sign-in. Try again, or sign in another way.',
  away: "The provider isn't responding. Try again, or sign in another way.",
  failed: "The provider sent an invalid response. Try again. The server's log has the details.",
}

/** Shows the account and the inviter, and lets the person join as a new or an existing user. */
function Invited({ code, signUp, busy }: { code: string; signUp: () => void; busy: boolean }) {
  const invitation = queryOptions({
    queryKey: ['invitation', code],
    queryFn: () => reply(api.POST('/v1/invitations/read', { body: { code } })),
    retry: false,
  })
  const signedIn = useQuery({ ...me, retry: false })
  const user = signedIn.data?.user
  return (
    <Read query={invitation} what="the invitation">
      {(found) => (
        <>
          <InvitationText invitation={found} />
          {user !== undefined && <Join by={{ code }} label={`Join as ${user.name}`} />}
          <Button kind={user === undefined ? 'primary' : 'plain'} busy={busy} onClick={signUp}>
            Join as a new user
          </Button>
          {user === undefined && (
            <p className="text-dim">Already have a user? Sign in first, then open this link again.</p>
          )}
        </>
      )}
    </Read>
  )
}

/** The page that asked for the sign-in. A sign-in link pasted into the same tab does not name it. */
function useNext(): { next: string; open: () => void } {
  const { next } = route.useSearch()
  useEffect(() => {
    if (next !== undefined) nextPage.set(next)
  }, [next])
  const wanted = next ?? nextPage.read() ?? '/'
  const open = () => {
    nextPage.forget()
    location.replace(wanted)
  }
  return { next: wanted, open }
}

/** The code of a sign-in link is in the fragment. A click spends it, so that a mail scanner cannot. */
export function SignInPage() {
  // A link pasted into this tab changes the fragment without loading the page again.
  const code = useLocation({ select: ({ hash }) => hash })
  const { problem } = route.useSearch()
  const { next, open } = useNext()
  const link = useSend('POST', '/v1/sign-in', { onSuccess: open })
  const { reset } = link
  useEffect(() => reset(), [code, reset])
  const spend = () => link.mutate({ code })
  return (
    <main className="mx-auto flex max-w-md flex-col gap-6 px-4 py-16">
      <h1 className="text-2xl font-semibold">svc</h1>
      {code.startsWith('inv_') && !link.isError ? (
        <Invited code={code} signUp={spend} busy={link.isPending || link.isSuccess} />
      ) : code !== '' && !link.isError ? (
        <>
          <p>This link signs you in to svc in this browser.</p>
          <Button kind="primary" busy={link.isPending || link.isSuccess} onClick={spend}>
            Sign in
          </Button>
        </>
      ) : (
        <>
          {link.isError && <Failure error={link.error} />}
          {problem !== undefined && problems[problem] !== undefined && <Notice title={problems[problem]} />}
          <p>Sign in to svc</p>
          <ProviderLink next={next} onLeave={nextPage.forget} />
          <PasswordForm onSignedIn={open} />
          <div className="flex flex-col gap-2">
            <p className="text-dim">Or create a sign-in link on the server's machine:</p>
            <Command>svc self-host owner-link</Command>
          </div>
        </>
      )}
    </main>
  )
}
