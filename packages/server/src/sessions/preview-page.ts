/** What a preview says when there is no program to show. */
import type { IncomingMessage } from 'node:http'
import { type Words, wordsPage } from '../http/words-page.ts'

export type PreviewPage =
  | { kind: 'unknown' }
  | { kind: 'foreign' }
  | { kind: 'stranger' | 'used' | 'nothing-listens' | 'broken'; port: number; sessionId: string }
  | { kind: 'not-running'; port: number; sessionId: string; status: string; error: string | null }

export function previewPage(request: IncomingMessage, page: PreviewPage): Response {
  return wordsPage(request, wordsOf(page))
}

function wordsOf(page: PreviewPage): Words {
  switch (page.kind) {
    case 'unknown':
      return {
        code: 'not_found',
        title: 'No preview has this address',
        text: 'An address is <port>--<session>, then the preview domain.',
      }
    case 'foreign':
      return {
        code: 'forbidden',
        title: 'Another page asked for this',
        text: 'A preview answers its own pages only; open it by a link.',
      }
    case 'stranger':
      return {
        code: 'unauthenticated',
        title: 'You are not signed in to this preview',
        text: 'Ask for an address that opens it in this browser:',
        command: again(page),
      }
    case 'used':
      return {
        code: 'unauthenticated',
        title: 'This address was used already, or is older than a minute',
        text: 'Ask for a new one:',
        command: again(page),
      }
    case 'not-running':
      return notRunning(page)
    case 'nothing-listens':
      return {
        code: 'preview_unreachable',
        title: `Nothing listens on port ${page.port} yet`,
        text: `Start a server on port ${page.port} in the session. This page looks again every two seconds.`,
        again: 2,
      }
    case 'broken':
      return {
        code: 'preview_unreachable',
        title: `The program on port ${page.port} does not answer`,
        text: 'It broke off, or the sandbox is just being stopped. This page looks again in two seconds.',
        again: 2,
      }
    default:
      return page satisfies never
  }
}

function notRunning({ sessionId, status, error }: PreviewPage & { kind: 'not-running' }): Words {
  if (status === 'provisioning')
    return {
      code: 'unavailable',
      title: 'The session is starting',
      text: 'This page looks again in two seconds.',
      again: 2,
    }
  if (status === 'running')
    return {
      code: 'unavailable',
      title: 'The session runs at another server',
      text: 'Open the preview there.',
      again: 10,
    }
  return {
    code: 'unavailable',
    title: `The session is ${status}`,
    text: error === null ? 'Start it again:' : `${error} Start it again:`,
    command: `svc sessions restart ${sessionId.slice(0, 8)}`,
  }
}

const again = (page: { port: number; sessionId: string }) =>
  `svc sessions preview ${page.sessionId.slice(0, 8)} ${page.port}`
