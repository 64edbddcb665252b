import type { App } from '@svc/contract'
import type { Message } from '../../http/message-page.ts'
import { reloads } from '../../sandboxes/origin-page.ts'

/** The page at the address of an app that is not running on this server. */
export function notRunningWords({ slug, state, reason }: Pick<App, 'slug' | 'state' | 'reason'>): Message {
  const code = 'unavailable' as const
  switch (state) {
    case 'deploying':
    case 'waiting':
      return { code, title: 'The app is deploying', ...reloads }
    case 'restarting':
      return { code, title: 'The app is restarting', ...reloads, text: `${reason ?? ''} ${reloads.text}`.trim() }
    case 'running':
      return { code, title: 'The app runs on another server', text: 'Open it there.', again: 10 }
    case 'stopped':
      return { code, title: 'The app is stopped', text: 'To start it:', command: `svc apps deploy ${slug}` }
    case 'failed':
      return { code, title: 'The app failed', text: reason ?? 'To read its log:', command: `svc apps logs ${slug}` }
    case 'disabled':
    case 'off':
      return { code, title: 'The app is not deployed', text: reason ?? '' }
    default:
      return state satisfies never
  }
}
