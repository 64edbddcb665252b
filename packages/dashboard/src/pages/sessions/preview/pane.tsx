/** A program of the session in a frame: its port, a path, and why it cannot be shown. */
import { useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { previewPortDefault } from '@svc/contract/schemas/preview-port'
import { type ReactNode, useState } from 'react'
import { Failure, QueryResult } from '../../../components/requests.tsx'
import { Button } from '../../../ui/form.tsx'
import { Empty } from '../../../ui/layout.tsx'
import { openPreview, type Ports, ports, type Session } from '../queries.ts'
import { pathIn, urlAt } from './address.ts'
import { PreviewFrame } from './frame.tsx'
import { Toolbar } from './toolbar.tsx'

const route = getRouteApi('/shell/projects/$project/sessions/$sessionId')

export default function PreviewPane({ session }: { session: Session }) {
  if (session.status === 'provisioning') return <Empty>The session is starting. Its programs appear here.</Empty>
  if (session.status !== 'running')
    return (
      <Empty>
        The session is {session.status}, so no program runs in it. Restart the session and start the program again to
        see it here.
      </Empty>
    )
  return <RunningPane session={session} />
}

function RunningPane({ session }: { session: Session }) {
  return (
    <QueryResult of={useQuery(ports(session))} what="the ports">
      {(found) => <OpenPane session={session} found={found} />}
    </QueryResult>
  )
}

function OpenPane({ session, found }: { session: Session; found: Ports }) {
  const { port: chosen } = route.useSearch()
  const navigate = route.useNavigate()
  const open = found.ports?.map(({ port }) => port) ?? null
  const [last, setLast] = useState<number | null>(null)
  const port = chosen ?? firstOf(open, last)
  if (port !== last) setLast(port)
  const [typed, setTyped] = useState('/')
  const [visit, setVisit] = useState({ path: '/', count: 0 })
  const go = (to: string) => {
    const path = pathIn(to)
    setTyped(path)
    setVisit(({ count }) => ({ path, count: count + 1 }))
  }
  const tab = useMutation({
    mutationFn: () => openPreview(session, port),
    onSuccess: ({ url }) => window.open(urlAt(url, typed), '_blank', 'noopener,noreferrer'),
  })
  const isClosed = open !== null && !open.includes(port)
  return (
    <>
      <Toolbar
        port={port}
        open={open}
        path={typed}
        refusal={isClosed ? `Nothing listens on port ${port}` : null}
        onPort={(next) => {
          go('/')
          void navigate({ search: (before) => ({ ...before, port: next }), replace: true, resetScroll: false })
        }}
        onPath={setTyped}
        onGo={() => go(typed)}
        tab={tab}
      />
      {tab.isError && <Failure error={tab.error} />}
      {isClosed ? (
        <Closed port={port} />
      ) : found.can_frame && !hasAddressInBrackets() ? (
        <>
          <PreviewFrame
            key={`${port} ${visit.count}`}
            session={session}
            port={port}
            path={visit.path}
            onReload={() => go(typed)}
          />
          <p className="border-t border-line px-3 py-2 text-xs text-dim">
            Programs that use cookies, pop-ups or downloads need a new tab.
          </p>
        </>
      ) : (
        <Unframed tab={<Button action={tab}>Open in a new tab</Button>} />
      )}
    </>
  )
}

/** It stays where it is, while it can. */
function firstOf(open: readonly number[] | null, last: number | null): number {
  if (last !== null && (open === null || open.length === 0 || open.includes(last))) return last
  if (open === null || open.includes(previewPortDefault)) return previewPortDefault
  return open[0] ?? previewPortDefault
}

function Closed({ port }: { port: number }) {
  return (
    <Empty command={`npm run dev -- --port ${port}`}>
      <p className="font-medium text-text">Nothing listens on port {port} yet</p>
      <p>
        Ask the agent to start the program, or start it in the terminal, so that it listens on 127.0.0.1:{port}. It
        appears here as soon as it does. For example:
      </p>
    </Empty>
  )
}

/** An IPv6 address, which no `frame-ancestors` can name. The server may have another URL. */
const hasAddressInBrackets = () => location.hostname.startsWith('[')

function Unframed({ tab }: { tab: ReactNode }) {
  return (
    <Empty>
      <p className="font-medium text-text">Previews open in a new tab here</p>
      <p className="mb-3">
        {hasAddressInBrackets()
          ? "Browsers cannot allow a page at an IPv6 address to frame a program. Open the dashboard at a URL with the server's name, which SVC_PUBLIC_URL sets."
          : 'Browsers sign in to a frame of another origin over https only, or on the machine of the server.'}{' '}
        This server is at {location.origin}.
      </p>
      {tab}
    </Empty>
  )
}
