/** The pages that the origin of an app or a preview shows when it cannot show the program. */
import type { Message } from '../http/message-page.ts'

export type Refusal = 'unknown' | 'foreign' | 'unauthenticated' | 'ticket-used'

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

export function brokenWords(program: string): Message {
  return {
    code: 'preview_unreachable',
    title: `${program} does not respond`,
    text: `It stopped or is restarting. ${reloads.text}`,
    again: reloads.again,
  }
}
