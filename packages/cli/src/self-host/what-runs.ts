/** How the commands name what a server runs in sandboxes, and how long it goes on without one. */
import { count } from '@svc/contract/count'
import type { RunningSandboxes } from '@svc/contract/daemon/owner-socket'
import type { Context } from '../context.ts'
import { serverEnvironment } from './environment.ts'

type Counts = Pick<RunningSandboxes, 'sessions' | 'apps' | 'checks'>

/** "3 sessions, 1 app, and 2 checks"; null when nothing runs. */
export function countsOf({ sessions, apps, checks }: Counts): string | null {
  const counts = Object.entries({ sessions, apps, checks }).flatMap(([nouns, number]) =>
    number === 0 ? [] : [count(number, nouns.slice(0, -1))],
  )
  return counts.length === 0 ? null : new Intl.ListFormat('en').format(counts)
}

/** "goes on" or "go on". */
export function verbFor({ sessions, apps, checks }: Counts): string {
  return sessions + apps + checks === 1 ? 'goes' : 'go'
}

/** After a server ended by itself, which can't be asked any more. */
export async function leftRunning(ctx: Context): Promise<string> {
  // The default is the server's.
  const lease = Number((await serverEnvironment(ctx)).SVC_SANDBOX_LEASE_SECONDS || 3600)
  if (lease === 0) return 'Its sessions, apps and checks ended with it.'
  return `Its sessions, apps and checks go on for ${leaseText(lease)} after its end, and the next start continues them. To end them: ${ctx.next('svc self-host stop --sessions')}`
}

export function leaseText(seconds: number): string {
  return seconds % 60 === 0 ? `${seconds / 60} min` : `${seconds} s`
}

/** The local time, with the date when it is a day away or more. */
export function clockText(ms: number, now: number): string {
  const time = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const
  const day = { year: 'numeric', month: 'short', day: 'numeric' } as const
  return new Intl.DateTimeFormat('en', ms - now < 86_400_000 ? time : { ...day, ...time }).format(ms)
}
