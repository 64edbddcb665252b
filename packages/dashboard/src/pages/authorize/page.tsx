import { useMutation, useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { api, ApiError, reply } from '../../api.ts'
import { Failure } from '../../components/failure.tsx'
import { PasswordForm } from '../../components/password-form.tsx'
import { ProviderLink } from '../../components/provider-link.tsx'
import { paths } from '../../paths.ts'
import { me } from '../../queries.ts'
import { Button, buttonClass } from '../../ui/button.tsx'
import { Command } from '../../ui/copy.tsx'
import { Loading } from '../../ui/loading.tsx'
import { callbackOf, readRequest, shortCode, type TerminalRequest } from './terminal-request.ts'

/** How the terminal sent the browser back. */
const ends: Record<string, [title: string, text: string]> = {
  '#done': ['Done', 'Your terminal is signed in. You can close this page.'],
  '#refused': ['Nothing was signed in', 'You can close this page.'],
  '#failed': ['The terminal could not finish', 'It says why.'],
}

/** What the terminal asked for, while this tab is away at a provider: it is in no address that leaves. */
const keptHash = 'svc-authorize'

/** Nobody goes back to a page that asks again. */
function leaveNoTrace(): void {
  sessionStorage.removeItem(keptHash)
  history.replaceState(history.state, '', location.pathname)
}

/** The page that signs a terminal in. */
export function AuthorizePage() {
  const [hash] = useState(() => {
    const hash = location.hash || (sessionStorage.getItem(keptHash) ?? '')
    if (ends[hash] !== undefined) leaveNoTrace()
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
        <Asked request={request} />
      ) : (
        <>
          <End title="Nothing waits here">
            This page signs a terminal in. Run this there, and open the address it shows:
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

function Asked({ request }: { request: TerminalRequest }) {
  const found = useQuery({ ...me, retry: false })
  if (found.isPending) return <Loading what="who you are" />
  if (found.data !== undefined)
    return <Approve request={request} name={found.data.user.name} account={found.data.account.name} />
  if (!(found.error instanceof ApiError) || found.error.code !== 'unauthenticated')
    return <Failure error={found.error} retry={() => void found.refetch()} />
  return (
    <>
      <h1 className="text-2xl font-semibold">Sign in first</h1>
      <p>A terminal waits to be signed in as you.</p>
      <ProviderLink next={paths.authorize} onLeave={() => sessionStorage.setItem(keptHash, location.hash)} />
      <PasswordForm onSignedIn={() => void found.refetch()} />
      <p className="text-dim">
        No password yet? On the machine of the server, make a link that signs this browser in, and open it here. Then
        reload this page.
      </p>
      <Command>svc self-host owner-link</Command>
    </>
  )
}

function Approve({ request, name, account }: { request: TerminalRequest; name: string; account: string }) {
  const [refused, setRefused] = useState(false)
  const approve = useMutation({
    mutationFn: () =>
      reply(api.POST('/v1/accounts/cli-logins', { body: { challenge: request.challenge, name: request.name } })),
    onSuccess: ({ code }) => {
      leaveNoTrace()
      if (!request.mayBeElsewhere) location.assign(callbackOf(request, { code }))
    },
  })
  const refuse = () => {
    leaveNoTrace()
    if (request.mayBeElsewhere) setRefused(true)
    else location.assign(callbackOf(request, { refused: '1' }))
  }
  if (refused)
    return <End title="Nothing was signed in">You can close this page. Ctrl-C ends the wait of the terminal.</End>
  if (approve.data !== undefined) return <HandOver request={request} code={approve.data.code} />
  return (
    <>
      <h1 className="text-2xl font-semibold">Sign in this terminal?</h1>
      <p>
        svc on <strong>{request.name}</strong> asks to work as <strong>{name}</strong>, with everything you may do in{' '}
        <span>{account}</span>.
      </p>
      <p>Your terminal shows this code:</p>
      <p className="rounded-md border border-line bg-sunken px-3 py-4 text-center font-mono text-3xl tracking-widest">
        {shortCode(request.challenge)}
      </p>
      <p className="text-dim">If it shows another one, or if you did not run svc login, say no.</p>
      {approve.isError && <Failure error={approve.error} />}
      <div className="flex gap-3">
        <Button kind="primary" busy={approve.isPending} onClick={() => approve.mutate()}>
          Sign it in
        </Button>
        <Button onClick={refuse}>No</Button>
      </div>
    </>
  )
}

/** Shown where the terminal may run on another machine, and to whom the browser brings back from one it did not reach. */
function HandOver({ request, code }: { request: TerminalRequest; code: string }) {
  return (
    <>
      <h1 className="text-2xl font-semibold">One more step</h1>
      <p>Does the terminal run on this very machine? Then:</p>
      <div>
        <a href={callbackOf(request, { code })} className={buttonClass('primary')}>
          Hand it over
        </a>
      </div>
      <p>If it runs on another one, paste this there, within a minute:</p>
      <Command>{code}</Command>
    </>
  )
}
