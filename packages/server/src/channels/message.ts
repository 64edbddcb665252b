/** A message as the service means it, in pieces a platform writes in its own way. Foreign text is always a piece of its own, so that nothing in it can become markup. */

/** `person` is an id of the platform, shown as a mention of them. */
export type Word = string | { bold: string } | { code: string } | { link: string; text: string } | { person: string }

export type Part =
  /** What an agent wrote, in markdown. */
  | { kind: 'markdown'; text: string }
  | { kind: 'line'; words: Word[] }
  /** Small print. */
  | { kind: 'note'; words: Word[] }
  | { kind: 'buttons'; buttons: Button[] }

export type Button =
  | { kind: 'link'; label: string; url: string }
  | { kind: 'merge'; label: string; value: string; confirm: { title: string; text: string; yes: string } }

export interface Message {
  /** For notifications, and where no parts are shown. */
  summary: string
  parts: Part[]
}

/** As it waits to be sent. */
export interface StoredMessage extends Message {
  /** A code to link this person is made when it is sent, so that no table and no list ever holds one. */
  invites?: { workspaceId: string; chatUserId: string }
}

/** What a card shows of a change request and only git knows. */
export interface CardFacts {
  additions: number
  deletions: number
  files: number
  /** Null: it could not be tried. */
  conflicts: number | null
}

const summaryCharsMax = 200

export function line(...words: Word[]): Message {
  return { summary: plain(words), parts: [{ kind: 'line', words }] }
}

/** The words without their look. */
export function plain(words: Word[]): string {
  const text = words
    .map((word) => {
      if (typeof word === 'string') return word
      if ('bold' in word) return word.bold
      if ('code' in word) return word.code
      return 'text' in word ? word.text : ''
    })
    .join('')
  return cut(text, summaryCharsMax)
}

/** Every text of a message, changed; links, ids and values stay. */
export function mapTexts<M extends Message>(message: M, change: (text: string) => string): M {
  const word = (one: Word): Word => {
    if (typeof one === 'string') return change(one)
    if ('bold' in one) return { bold: change(one.bold) }
    if ('code' in one) return { code: change(one.code) }
    return 'link' in one ? { ...one, text: change(one.text) } : one
  }
  const part = (one: Part): Part => {
    if (one.kind === 'markdown') return { ...one, text: change(one.text) }
    return one.kind === 'buttons' ? one : { ...one, words: one.words.map(word) }
  }
  return { ...message, summary: change(message.summary), parts: message.parts.map(part) }
}

export function cut(text: string, charsMax: number): string {
  return text.length <= charsMax ? text : `${text.slice(0, charsMax - 1).toWellFormed()}…`
}
