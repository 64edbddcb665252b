/** What an app's address says when there is no app to show. */
import type { IncomingMessage } from 'node:http'
import type { AppState } from '@svc/contract'
import { type Words, wordsPage } from '../http/words-page.ts'

export type AppPage =
  | { kind: 'unknown' }
  | { kind: 'foreign' }
  | { kind: 'stranger' | 'used' | 'broken'; slug: string }
  | { kind: 'not-running'; slug: string; state: AppState; reason: string | null }

export function appPage(request: IncomingMessage, page: AppPage): Response {
  return wordsPage(request, wordsOf(page))
}

function wordsOf(page: AppPage): Words {
  switch (page.kind) {
    case 'unknown':
      return {
        code: 'not_found',
        title: 'No app has this address',
        text: 'An address is <app>--<project>, then the preview domain. The apps of a project:',
        command: 'svc apps ls',
      }
    case 'foreign':
      return {
        code: 'forbidden',
        title: 'Another page asked for this',
        text: 'An app answers its own pages only; open it by a link.',
      }
    case 'stranger':
      return {
        code: 'unauthenticated',
        title: 'You are not signed in to this app',
        text: 'Members of its project see it. Ask for an address that opens it in this browser:',
        command: `svc apps open ${page.slug}`,
      }
    case 'used':
      return {
        code: 'unauthenticated',
        title: 'This address was used already, or is older than a minute',
        text: 'Ask for a new one:',
        command: `svc apps open ${page.slug}`,
      }
    case 'broken':
      return {
        code: 'preview_unreachable',
        title: 'The app does not answer',
        text: 'It broke off, or is being started again. This page looks again in two seconds.',
        again: 2,
      }
    case 'not-running':
      return notRunning(page)
    default:
      return page satisfies never
  }
}

function notRunning({ slug, state, reason }: AppPage & { kind: 'not-running' }): Words {
  const code = 'unavailable' as const
  switch (state) {
    case 'deploying':
    case 'waiting':
      return { code, title: 'The app is being deployed', text: 'This page looks again in two seconds.', again: 2 }
    case 'restarting':
      return {
        code,
        title: 'The app is being started again',
        text: `${reason ?? ''} This page looks again in two seconds.`.trim(),
        again: 2,
      }
    case 'running':
      return { code, title: 'The app runs at another server', text: 'Open it there.', again: 10 }
    case 'stopped':
      return { code, title: 'The app is stopped', text: 'Start it:', command: `svc apps deploy ${slug}` }
    case 'failed':
      return { code, title: 'The app failed', text: reason ?? 'Its log says why:', command: `svc apps logs ${slug}` }
    case 'disabled':
    case 'off':
      return { code, title: 'The app is not deployed', text: reason ?? '' }
    default:
      return state satisfies never
  }
}
