/** The pages that the origin of an app or a preview shows when it cannot show the program. */
import type { Message } from '../http/message-page.ts'

export type Refusal = 'unknown' | 'foreign' | 'unauthenticated' | 'frame-unauthenticated' | 'ticket-used'

export interface OriginWords {
  noun: 'app' | 'preview'
  /** The form of an address of this kind, and how to find one. */
  addressHint: Pick<Message, 'text' | 'command'>
}

/** `command` prints a new link to the place. */
export function refusalWords({ noun, addressHint }: OriginWords, refusal: Refusal, command: string): Message {
  switch (refusal) {
    case 'unknown':
      return { code: 'not_found', title: `No ${noun} at this address`, ...addressHint }
    case 'foreign':
      return {
        code: 'forbidden',
        title: 'Blocked a request from another page',
        text: `This ${noun} accepts requests from its own pages only. Open it by a link.`,
      }
    case 'unauthenticated':
      return {
        code: 'unauthenticated',
        title: `You are not signed in to this ${noun}`,
        text: 'Get a link that opens it in this browser:',
        command,
      }
    case 'frame-unauthenticated':
      return {
        code: 'unauthenticated',
        title: 'This frame is not signed in',
        text: 'Its sign-in ended, or this browser keeps no cookies in frames. Reload the frame. If this message stays, open it in a new tab.',
      }
    case 'ticket-used':
      return {
        code: 'unauthenticated',
        title: 'This link was already used or has expired',
        text: 'Get a new one:',
        command,
      }
    default:
      return refusal satisfies never
  }
}

export const reloads = { text: 'This page reloads in two seconds.', again: 2 }

/** Why this server does not have what runs. */
export const comingBack = 'Its server has just started, or its project has just moved to another one.'

export function unframeableWords(program: string): Message {
  return {
    code: 'forbidden',
    title: `${program} does not allow frames`,
    text: 'This page forbids other pages to show it, by X-Frame-Options or frame-ancestors. Open it in a new tab.',
  }
}

export function brokenWords(program: string): Message {
  return {
    code: 'preview_unreachable',
    title: `${program} does not respond`,
    text: `It stopped or is restarting. ${reloads.text}`,
    again: reloads.again,
  }
}
