import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { ApiError } from '../../api.ts'
import { Failure, useSend } from '../../components/requests.tsx'
import { PasswordForm } from '../../components/sign-in/password-form.tsx'
import { ProviderLink } from '../../components/sign-in/provider-link.tsx'
import { paths } from '../../paths.ts'
import { me } from '../account/queries.ts'
import { Button, buttonClass } from '../../ui/form.tsx'
import { Command } from '../../ui/text.tsx'
import { Loading } from '../../ui/layout.tsx'
import { callbackOf, readRequest, shortCode, type TerminalRequest } from './terminal-request.ts'

const ends: Record<string, [title: string, text: string]> = {
  '#done': ['Done', 'Your terminal is signed in. You can close this page.'],
  '#refused': ['Sign-in canceled', 'You can close this page.'],
  '#failed': ["The terminal couldn't finish signing in", 'See the terminal for the reason.'],
}

/** Keeps the terminal's request while this tab visits a sign-in provider, whose URL must not contain it. */
const storedHash = 'svc-authorize'

/** So that the Back button does not ask again. */
function forgetRequest(): void {
  sessionStorage.removeItem(storedHash)
  history.replaceState(history.state, '', location.pathname)
}

export function AuthorizePage() {
  const [hash] = useState(() => {
    const hash = location.hash || (sessionStorage.getItem(storedHash) ?? '')
    if (ends[hash] !== undefined) forgetRequest()
    return hash
  })
  const request = readRequest(hash)
  const end = ends[hash]
  return (
    <main className="mx-auto flex max-w-xl flex-col gap-4 px-4 py-10">
      <p className="font-semibold text-dim">svc</p>
      {end !== undefined ? (
        <End title={end[0]}>{end[1]}</End>
      ) : request !== null ? (
        <TerminalSignIn request={request} />
      ) : (
        <>
          <End title="No terminal is waiting">
            This page signs in a terminal. Run this command there and open the URL it prints:
          </End>
          <Command>svc login</Command>
        </>
      )}
    </main>
  )
}

function End({ title, children }: { title: string; children: ReactNode }) {
  return (
    <>
      <h1 className="text-2xl font-semibold">{title}</h1>
      <p role="status">{children}</p>
    </>
  )
}

function TerminalSignIn({ request }: { request: TerminalRequest }) {
  const found = useQuery({ ...me, retry: false })
  if (found.isPending) return <Loading what="your account" />
  if (found.data !== undefined)
    return <Approve request={request} name={found.data.user.name} account={found.data.account.name} />
  if (!(found.error instanceof ApiError) || found.error.code !== 'unauthenticated')
    return <Failure error={found.error} retry={() => void found.refetch()} />
  return (
    <>
      <h1 className="text-2xl font-semibold">Sign in first</h1>
      <p>A terminal is waiting to be signed in as you.</p>
      <ProviderLink next={paths.authorize} onLeave={() => sessionStorage.setItem(storedHash, location.hash)} />
      <PasswordForm onSignedIn={() => void found.refetch()} />
      <p className="text-dim">
        No password yet? Create a sign-in link on the server's machine, open it in this browser, then reload this page.
      </p>
      <Command>svc self-host owner-link</Command>
    </>
  )
}

function Approve({ request, name, account }: { request: TerminalRequest; name: string; account: string }) {
  const [refused, setRefused] = useState(false)
  const { challenge, name: terminal } = request
  const approve = useSend('POST', '/v1/accounts/cli-logins', {
    onSuccess: ({ code }) => {
      forgetRequest()
      if (!request.mayBeElsewhere) location.assign(callbackOf(request, { code }))
    },
  })
  const refuse = () => {
    forgetRequest()
    if (request.mayBeElsewhere) setRefused(true)
    else location.assign(callbackOf(request, { refused: '1' }))
  }
  if (refused)
    return <End title="Sign-in canceled">You can close this page. Press Ctrl-C to stop the waiting terminal.</End>
  if (approve.data !== undefined) return <HandOver request={request} code={approve.data.code} />
  return (
    <>
      <h1 className="text-2xl font-semibold">Sign in this terminal?</h1>
      <p>
        svc on <strong>{terminal}</strong> wants to act as <strong>{name}</strong>, with all your permissions in{' '}
        <span>{account}</span>.
      </p>
      <p>Your terminal shows this code:</p>
      <p className="rounded-md border border-line bg-sunken px-3 py-4 text-center font-mono text-3xl tracking-widest">
        {shortCode(challenge)}
      </p>
      <p className="text-dim">If the codes differ, or you didn't run svc login, choose Cancel.</p>
      {approve.isError && <Failure error={approve.error} />}
      <div className="flex gap-3">
        <Button kind="primary" busy={approve.isPending} onClick={() => approve.mutate({ challenge, name: terminal })}>
          Sign in
        </Button>
        <Button onClick={refuse}>Cancel</Button>
      </div>
    </>
  )
}

/** For a terminal that may run on another machine, or that the browser could not reach. */
function HandOver({ request, code }: { request: TerminalRequest; code: string }) {
  return (
    <>
      <h1 className="text-2xl font-semibold">One more step</h1>
      <p>If the terminal runs on this machine:</p>
      <div>
        <a href={callbackOf(request, { code })} className={buttonClass('primary')}>
          Finish signing in
        </a>
      </div>
      <p>If it runs on another machine, paste this code there within a minute:</p>
      <Command>{code}</Command>
    </>
  )
}
